# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# limits: memory=128M timeout=30s
# unwalled: never
# by: supervisor
"""The same at a walk: also where limits are only measured this is seen and told."""
import time

pieces = []
for number in range(600):
    pieces.append(bytearray(b"x" * (1 << 20)))
    time.sleep(0.01)
breach("600 MiB with a limit of 128 MiB")
