# SPDX-License-Identifier: Apache-2.0
# expect: exception | memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
"""One allocation beyond all bounds."""
piece = bytearray(1 << 40)
breach("a terabyte")
