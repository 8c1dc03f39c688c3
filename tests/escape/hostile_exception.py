# SPDX-License-Identifier: Apache-2.0
# expect: exception
# class: dos
# unwalled: never
"""An error that does not let itself be told."""


class Hostile(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__

    @property
    def __class__(self):
        raise KeyboardInterrupt

    @property
    def __traceback__(self):
        raise MemoryError


raise Hostile
