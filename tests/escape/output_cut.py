# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: timeout=30s
# unwalled: never
# truncated: stdout
"""A little too much is cut, told, and the run goes on."""
for number in range(3 << 10):
    print("z" * 1023)
