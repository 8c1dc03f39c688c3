# SPDX-License-Identifier: Apache-2.0
# expect: ok | memory | exception
# class: dos
# limits: memory=32M timeout=30s
# unwalled: never
"""Watches of epoll are kernel memory and counted per host user: who has them all stops that user.

Where sandboxes share the uid of whoever started them, the limit in /proc/sys/fs/epoll is reached by
pids * (files / 2) ** 2 watches, and every event loop of that user, viv's first, gets ENOSPC.
"""
import select

WANTED = 400000  # of about 200 bytes each: 76 MiB

made = 0
try:
    while made < WANTED:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            watched = [os.eventfd(0) for _ in range(450)]
            loops = [select.epoll() for _ in range(450)]
            for loop in loops:
                for fd in watched:
                    loop.register(fd, select.EPOLLIN)
            os.write(writer, b"%d" % (len(loops) * len(watched)))
            signal.pause()
        os.close(writer)
        made += int(os.read(reader, 16) or b"0")
        if os.waitpid(pid, os.WNOHANG)[0]:
            break
except (OSError, MemoryError) as error:
    held(f"{made} watches, then {error!r}")
if made >= WANTED:
    breach(f"{made} watches with a limit of 32 MiB")
