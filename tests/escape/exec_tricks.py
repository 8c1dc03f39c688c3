# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp caps mount
# unwalled: safe
# stdout: filtered after exec: yes
"""Sheds the filter by exec: of itself, of the loader, of memory, of a script with odd interpreters."""
import subprocess

test = "import ctypes; l = ctypes.CDLL(None, use_errno=True); l.syscall(323, 1); print(ctypes.get_errno())"
path = os.path.join("/workspace" if WALLED else _args["work"], "copy")
with open("/usr/bin/python3", "rb") as source, open(path, "wb") as copy:
    copy.write(source.read())
os.chmod(path, 0o755)
try:
    memory = os.memfd_create("python", 0)
except OSError as error:
    held(f"memory to exec from: {name_of(error.errno)}")
    memory = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR, 0o700)
with open(path, "rb") as source:
    os.write(memory, source.read())
ways = {"exec": ["/usr/bin/python3", "-I", "-c", test], "copy": [path, "-I", "-c", test],
        "loader": ["/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3", "-I", "-c", test],
        "memory": [f"/proc/self/fd/{memory}", "-I", "-c", test],
        "shell": ["/bin/sh", "-c", f"exec /usr/bin/python3 -I -c '{test}'"]}
is_filtered = True
for way, words in ways.items():
    try:
        answer = subprocess.run(words, capture_output=True, text=True, pass_fds=(memory,),
                                timeout=10).stdout.strip()
    except OSError as error:
        held(f"{way}: {name_of(error.errno)}")
        continue
    if answer not in (str(EPERM), str(ENOSYS), ""):
        breach(f"{way}: userfaultfd answered {answer}")
        is_filtered = False
    if way == "exec" and answer not in (str(EPERM), str(ENOSYS)):
        breach(f"{way} did not run: {answer!r}")
print("filtered after exec:", "yes" if is_filtered else "no")
if not WALLED:
    refused("userfaultfd", 1)
