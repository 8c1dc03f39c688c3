# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: forge
# unwalled: never
"""Testifies twice: the first counts, for its own run, and nothing comes after it."""
import time

import _vivarium

_vivarium.send(5, 0, b'{"kind":"ok","exit_code":0,"message":"","remedy":""}')
try:
    _vivarium.send(5, 0, b'{"kind":"exception","exit_code":1,"message":"","remedy":""}')
    _vivarium.send(3, 0, b'{"type":"result","result":{"text/plain":"BREACH: after the end"}}')
except OSError:
    pass
time.sleep(10)
