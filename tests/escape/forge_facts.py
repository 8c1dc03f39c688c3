# SPDX-License-Identifier: Apache-2.0
# expect: killed
# class: forge
# unwalled: never
# exit: 137
# signal: 9
# by: supervisor
"""Testimony of things that only the supervisor can know, with the right nonce: ends the run."""
import _vivarium

for kind in ("timeout", "memory", "killed", "output", "denied", "cancelled", "backend", "nonsense"):
    _vivarium.send(3, 0,
                   b'{"type":"verdict","verdict":{"kind":"%s","exit_code":124,"by":"supervisor"}}' % kind.encode())
os._exit(5)
