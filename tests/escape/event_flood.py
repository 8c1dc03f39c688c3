# SPDX-License-Identifier: Apache-2.0
# expect: ok | output | killed
# class: forge
# limits: timeout=30s
# unwalled: never
"""A hundred thousand events that the runner would not send."""
import _vivarium

text = b'{"type":"display","data":{"text/plain":"' + b"x" * 4000 + b'"}}'
try:
    for number in range(100_000):
        _vivarium.send(3, 0, text)
except OSError as error:
    print("gone:", error)
