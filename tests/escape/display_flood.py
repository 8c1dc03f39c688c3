# SPDX-License-Identifier: Apache-2.0
# expect: ok | output
# class: dos
# limits: timeout=60s
# unwalled: never
"""Displays without number."""
for number in range(100_000):
    display("x" * 1000)
