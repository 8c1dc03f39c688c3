# SPDX-License-Identifier: Apache-2.0
# expect: killed
# exit: 137
# signal: 9
# class: forge
# unwalled: never
# by: supervisor
# within: 15s
"""A DONE that claims a fact is no testimony but a broken runner."""
import time

import _vivarium

_vivarium.send(5, 0,
               b'{"kind":"timeout","exit_code":124,"message":"","remedy":"","by":"supervisor"}')
time.sleep(60)
