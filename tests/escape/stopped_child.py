# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: timeout=20s
# unwalled: never
# stdout: parent is done
# within: 8s
"""A stopped grandchild keeps the streams open; the answer does not wait for it."""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)
print("parent is done")
