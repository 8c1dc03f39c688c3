# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: fds
# unwalled: safe
"""Looks for descriptors that whoever started this left open, and reads them."""
import fcntl

for fd in range(3, 1024):
    try:
        fcntl.fcntl(fd, fcntl.F_GETFD)
    except OSError:
        continue
    where = os.readlink(f"/proc/self/fd/{fd}")
    if WALLED and fd == 3 and where.startswith("socket:"):
        continue  # the channel
    try:
        os.lseek(fd, 0, os.SEEK_SET)
    except OSError:
        pass
    try:
        text = os.read(fd, 200)
    except OSError as error:
        text = name_of(error.errno).encode()
    if _args["mark"].encode() in text or b"VIVSECRET" in text or not where.startswith(("/viv/", "/workspace")):
        breach(f"descriptor {fd} -> {where}: {text!r}")
for fd in (0, 1, 2):
    where = os.readlink(f"/proc/self/fd/{fd}")
    if not where.startswith(("pipe:", "/dev/null", "/memfd:", "socket:")):
        breach(f"descriptor {fd} is {where}")
held("only what was given")
