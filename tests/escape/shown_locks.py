# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount
# shown: yes
# unwalled: safe
"""A database in a folder that is shown, locked by a program of the host. Who meets that lock could hold
one of its own, and the host would wait."""
import fcntl

path = os.path.join(_args["shown"], "locked")
fd = os.open(path, os.O_RDONLY)
for name, lock in (("flock", fcntl.flock), ("fcntl", fcntl.lockf)):
    try:
        lock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        held(f"{name}: a lock that nobody outside meets")
    except BlockingIOError:
        breach(f"{name}: the host's own lock is met")
    except OSError as error:
        held(f"{name}: {name_of(error.errno)}")
