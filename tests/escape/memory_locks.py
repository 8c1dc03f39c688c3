# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# walls: seccomp
# limits: memory=128M timeout=20s
# check: neighbour
# unwalled: safe
"""Locks of single bytes: memory of the kernel that no group counts, as much as time allows. By threads and
children, on files of its own and on the host's; by tables of descriptors that outlive whoever took the locks."""
import fcntl

FILES, LOCKS = (64, 1 << 20) if WALLED else (4, 4000)
kept = [os.open(f"/tmp/{_args['mark']}.{number}", os.O_RDWR | os.O_CREAT) for number in range(FILES)]
if not WALLED:
    for number in range(FILES):
        os.unlink(f"/tmp/{_args['mark']}.{number}")
kept.append(os.open("/usr/bin/env", os.O_RDONLY))
print("READY", flush=True)
# CLONE_FILES: the child's locks would stay, under the number of a process that is gone.
child = call("clone", 0x400 | 17, None, None, None, 0)[0]
if child == 0:
    fcntl.lockf(kept[0], fcntl.LOCK_EX, 1, 1)
    os._exit(0)
if child > 0:
    os.waitpid(child, 0)
    breach("a table of descriptors is shared with a child")
F_OFD_SETLK, count = 37, 0
try:
    fcntl.fcntl(kept[-1], F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 1, 0))
    breach("a lock that is nobody's")
except OSError as error:
    held(f"open file: {name_of(error.errno)}")
if WALLED:
    os.fork()
for offset in range(0, LOCKS, 2):
    for fd in kept:
        fcntl.lockf(fd, fcntl.LOCK_SH, 1, offset)
        count += 1
breach(f"{count} locks")
