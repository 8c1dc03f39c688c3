# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# limits: timeout=2s
# unwalled: never
# by: supervisor
# within: 9s
"""A last value whose text never ends."""


class Endless:
    def __repr__(self):
        while True:
            pass


Endless()
