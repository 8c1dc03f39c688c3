# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: fds
# unwalled: safe
"""Looks for descriptors that whoever started this left open, and reads them."""
import fcntl
import subprocess

own = [os.readlink(f"/proc/self/fd/{fd}") for fd in (1, 2)]  # the runner of a session keeps a second one of each
spare = 1  # the run's own stdin, which the runner keeps aside: a pipe with nothing in it
for fd in range(3, 1024):
    try:
        fcntl.fcntl(fd, fcntl.F_GETFD)
    except OSError:
        continue
    where = os.readlink(f"/proc/self/fd/{fd}")
    if WALLED and fd == 3 and where.startswith("socket:"):
        continue  # the channel
    if where in own and where.startswith("pipe:"):
        own.remove(where)
        continue
    try:
        os.lseek(fd, 0, os.SEEK_SET)
    except OSError:
        pass
    try:
        text = os.read(fd, 200)
    except OSError as error:
        text = name_of(error.errno).encode()
    if where.startswith("pipe:") and not text and spare:
        spare -= 1
        continue
    breach(f"descriptor {fd} -> {where}: {text!r}")
for fd in (0, 1, 2):
    where = os.readlink(f"/proc/self/fd/{fd}")
    if not where.startswith(("pipe:", "/dev/null", "/memfd:", "socket:")):
        breach(f"descriptor {fd} is {where}")

# A program that it starts gets the three streams and not the channel, also without Python's help.
names = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False,
                       pass_fds=()).stdout
for line in names.splitlines():
    if " -> " in line:
        fd, where = line.split(" -> ")
        if int(fd.split()[-1]) > 2 and not where.startswith("/proc/"):
            breach(f"a program inherits {fd.split()[-1]} -> {where}")
held("only what was given")
