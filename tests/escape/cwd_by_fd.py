# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: fds mount
# unwalled: safe
"""Walks out through a folder that is open somewhere: /proc/self/fd/N as working directory."""
secret = _args["tmp_secret"].lstrip("/")
for fd in range(0, 256):
    for climb in ("", "../", "../../../../"):
        try:
            with open(f"/proc/self/fd/{fd}/{climb}{secret}", "rb") as file:
                breach(f"by descriptor {fd}: {file.read()!r}")
        except OSError:
            pass
    try:
        os.fchdir(fd)
        if WALLED or os.getcwd() == "/":
            breach(f"descriptor {fd} is a folder: {os.getcwd()}")
    except OSError:
        pass
for pid in (1, 2, os.getppid()):
    for fd in range(0, 64):
        try:
            os.chdir(f"/proc/{pid}/fd/{fd}")
            breach(f"into descriptor {fd} of process {pid}")
        except OSError:
            pass
held("no folder is open")
