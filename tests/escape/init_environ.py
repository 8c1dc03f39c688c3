# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: pid user fds
# unwalled: safe
"""Reads environment, arguments and memory maps of whoever started it."""
for name in ("VIV_ESCAPE_CANARY", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"):
    if name in os.environ:
        breach(f"environment has {name}={os.environ[name]}")
for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
    for what in ("environ", "cmdline", "auxv"):
        try:
            with open(f"/proc/{pid}/{what}", "rb") as file:
                text = file.read(100000)
        except OSError:
            continue
        if b"VIVSECRET" in text:
            breach(f"/proc/{pid}/{what}: {text[text.index(b'VIVSECRET'):][:60]!r}")
if WALLED:
    for what in ("environ", "mem", "maps", "auxv", "stack", "syscall", "smaps", "pagemap", "io",
                 "personality"):
        attempt(f"init's {what}", lambda: os.read(os.open(f"/proc/1/{what}", os.O_RDONLY), 1),
                by=(EPERM, EACCES, ENOENT, errno.ESRCH, errno.EIO))
    for what in ("cwd", "root", "exe"):
        attempt(f"init's {what}", os.readlink, f"/proc/1/{what}")
    attempt("init's descriptors", os.listdir, "/proc/1/fd")
    attempt("init's mappings", os.listdir, "/proc/1/map_files")
