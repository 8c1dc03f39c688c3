# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Takes descriptors out of another process."""
pid = os.fork()
if pid == 0:
    signal.pause()
    os._exit(0)
pidfd = os.pidfd_open(pid)
for fd in range(0, 5):
    refused("pidfd_getfd", pidfd, fd, 0)
os.kill(pid, 9)
os.waitpid(pid, 0)
