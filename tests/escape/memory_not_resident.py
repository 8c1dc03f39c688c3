# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
# by: supervisor
"""Shared memory that is mapped, but in nobody's page tables: no process has it in its figures."""
import mmap
import time

SIZE, STEP, PAGE = 100 << 20, 4 << 20, 4096

kept = []
for number in range(5):
    area = mmap.mmap(-1, SIZE)
    for start in range(0, SIZE, STEP):
        area[start:start + STEP] = b"\1" * STEP
        area.madvise(mmap.MADV_DONTNEED, start, STEP)
    kept.append(area)
time.sleep(0.5)
if all(area[7 * PAGE] == 1 for area in kept):
    breach("500 MiB of shared memory with a limit of 128 MiB")
