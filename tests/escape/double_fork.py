# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: timeout=20s
# unwalled: never
# within: 8s
"""A daemon in the classic manner: new session, orphan, other group, closed streams, busy."""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        for fd in range(0, 3):
            os.close(fd)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        while True:
            pass
    os._exit(0)
print("daemon started")
