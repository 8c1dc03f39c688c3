# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
# by: supervisor
"""Shared anonymous memory, held by a child."""
import mmap
import time

maps = []
for number in range(64):
    piece = mmap.mmap(-1, 8 << 20)
    for offset in range(0, 8 << 20, 4096):
        piece[offset] = 1
    maps.append(piece)
    time.sleep(0.01)
time.sleep(2)
breach("512 MiB of shared maps with a limit of 128 MiB")
