# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: seccomp
# unwalled: safe
"""Leases and notices on files that others share: a way to stall or to signal them."""
import fcntl

path = "/usr/bin/env" if WALLED else _args["target"]
fd = os.open(path, os.O_RDONLY)
folder = os.open(os.path.dirname(path), os.O_RDONLY)
by = (EPERM, EACCES, errno.EINVAL)
try:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    breach("lease taken")
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
except OSError as error:
    held(f"lease: {name_of(error.errno)}")
try:
    fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_MODIFY)
    breach("directory notice taken")
except OSError as error:
    held(f"notice: {name_of(error.errno)}")
