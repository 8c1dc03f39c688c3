# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# unwalled: never
# within: 8s
"""Closes its own streams and goes on."""
for fd in (0, 1, 2):
    os.close(fd)
sys.stdout = sys.stderr = sys.stdin = None
