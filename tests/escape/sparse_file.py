# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: memory=256M timeout=30s
# unwalled: never
# check: out_is_plain
"""Files that are larger than they are."""
with open("/workspace/big.bin", "wb") as file:
    try:
        file.truncate(1 << 40)
        breach("a terabyte on 256 MiB")
    except OSError as error:
        held(f"1 TiB: {name_of(error.errno)}")
    try:
        os.posix_fallocate(file.fileno(), 0, 1 << 35)
        breach("32 GiB allocated")
    except OSError as error:
        held(f"fallocate: {name_of(error.errno)}")
with open("/workspace/hole.bin", "wb") as file:
    file.truncate(100 << 20)
