# SPDX-License-Identifier: Apache-2.0
# expect: output
# class: dos
# limits: timeout=30s
# unwalled: never
# truncated: stderr
# by: supervisor
"""The same on the other stream, through Python's own buffers."""
for number in range(1 << 20):
    print("e" * 1023, file=sys.stderr)
