# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
# by: supervisor
"""Each process stays small, together they are not."""
import time

for number in range(12):
    if os.fork() == 0:
        piece = bytearray(b"x" * (60 << 20))
        signal.pause()
time.sleep(15)
breach("720 MiB with a limit of 128 MiB")
