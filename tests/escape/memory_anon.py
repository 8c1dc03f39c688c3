# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
# by: supervisor
"""Takes memory, page by page, as fast as it gets it."""
pieces = []
for number in range(4096):
    pieces.append(bytearray(b"x" * (1 << 20)))
breach("4 GiB with a limit of 128 MiB")
