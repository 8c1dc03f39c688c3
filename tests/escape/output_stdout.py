# SPDX-License-Identifier: Apache-2.0
# expect: output
# class: dos
# limits: timeout=30s
# unwalled: never
# truncated: stdout
# by: supervisor
"""A gigabyte of lines."""
line = b"x" * 1023 + b"\n"
for number in range(1 << 20):
    os.write(1, line)
