# SPDX-License-Identifier: Apache-2.0
# expect: output
# class: dos
# limits: timeout=30s
# unwalled: never
# truncated: stdout
# by: supervisor
"""One line without an end."""
for number in range(256):
    sys.stdout.write("y" * (1 << 20))
    sys.stdout.flush()
