# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: memory=512M timeout=30s
# unwalled: never
# stdout: ENOSPC
"""Fills /tmp and lives with it: both folders together stay below their caps."""
total = 0
try:
    with open("/tmp/fill", "wb", buffering=0) as file:
        while total < 2 << 30:
            total += file.write(bytes(1 << 20))
    breach(f"{total >> 20} MiB in /tmp")
except OSError as error:
    print(f"{total >> 20} MiB in /tmp, {name_of(error.errno)}")
    if total > 300 << 20:
        breach(f"{total >> 20} MiB in /tmp")
os.unlink("/tmp/fill")
