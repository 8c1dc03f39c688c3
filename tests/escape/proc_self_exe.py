# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount landlock
# unwalled: root
"""Overwrites the programs that started it, through /proc/PID/exe (the runc hole of 2019)."""
by = (EPERM, EACCES, ENOENT, errno.EROFS)
for pid in ["self", *(name for name in os.listdir("/proc")
                      if name.isdigit())] if WALLED else ["self"]:
    attempt(f"open exe of {pid}", os.open, f"/proc/{pid}/exe", os.O_WRONLY, by=by)
if WALLED:
    for path in ("/usr/bin/python3", "/viv/main.py", "/viv/_vivarium.abi3.so", "/bin/sh",
                 "/etc/passwd"):
        attempt(f"write {path}", os.open, path, os.O_WRONLY, by=by)
        attempt(f"truncate {path}", os.truncate, path, 0, by=by)
        attempt(f"chmod {path}", os.chmod, path, 0o777, by=by)
        attempt(f"touch {path}", os.utime, path, (1, 1), by=by)
