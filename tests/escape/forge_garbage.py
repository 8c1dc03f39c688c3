# SPDX-License-Identifier: Apache-2.0
# expect: killed
# exit: 137
# signal: 9
# class: forge
# unwalled: never
# by: supervisor
# within: 15s
"""Noise on the channel."""
import time

for _ in range(64):
    os.write(3, b"\xff" * 64 + os.urandom(1024))
time.sleep(60)
