# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: dos
# limits: memory=256M timeout=20s
# unwalled: never
# exit: 139
# signal: 11
# by: supervisor
"""Recursion in C without an end."""
sys.setrecursionlimit(10**9)
nested = []
for _ in range(3_000_000):
    nested = [nested]
repr(nested)
