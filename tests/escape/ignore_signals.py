# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# limits: timeout=1500ms
# unwalled: never
# by: supervisor
# within: 8s
"""Ignores, blocks and swallows whatever can be."""
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
