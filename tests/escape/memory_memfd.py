# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
# by: supervisor
"""Memory that no process has mapped."""
import time

fds = []
for number in range(64):
    fds.append(os.memfd_create("m"))
    for piece in range(8):
        os.write(fds[-1], bytes(1 << 20))
    time.sleep(0.01)
time.sleep(2)
breach("512 MiB of memfds with a limit of 128 MiB")
