# SPDX-License-Identifier: Apache-2.0
# expect: exception
# class: dos
# unwalled: never
"""A chain of causes ten thousand long, and a recursion at its end."""
error = None
for number in range(10_000):
    try:
        raise ValueError(number) from error
    except ValueError as caught:
        error = caught
raise error
