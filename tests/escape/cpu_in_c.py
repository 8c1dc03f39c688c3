# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# limits: timeout=1500ms
# unwalled: never
# by: supervisor
# within: 8s
"""Never leaves C, and holds the interpreter's lock."""
number = 7 ** 3_000_000
for _ in range(1000):
    number * number
str(number)
