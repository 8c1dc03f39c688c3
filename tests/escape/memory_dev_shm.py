# SPDX-License-Identifier: Apache-2.0
# expect: ok | memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
"""Fills /dev/shm: its own size stops it, or the memory limit does."""
total = 0
try:
    with open("/dev/shm/fill", "wb") as file:
        while total < 2 << 30:
            total += file.write(bytes(1 << 20))
            file.flush()
    breach(f"{total >> 20} MiB in /dev/shm")
except OSError as error:
    print(f"stopped at {total >> 20} MiB by {name_of(error.errno)}")
