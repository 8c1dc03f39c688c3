# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
"""Memory that no process has mapped: where limits are measured nobody would count it."""
import time

fds = []
try:
    for number in range(64):
        fds.append(os.memfd_create("m"))
        for piece in range(8):
            os.write(fds[-1], bytes(1 << 20))
        time.sleep(0.01)
    time.sleep(2)
    breach("512 MiB of memfds with a limit of 128 MiB")
except OSError as error:
    held(f"memfd: {name_of(error.errno)}")
