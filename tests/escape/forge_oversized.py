# SPDX-License-Identifier: Apache-2.0
# expect: killed
# exit: 137
# signal: 9
# class: forge
# unwalled: never
# by: supervisor
# within: 15s
"""Announces four gigabytes: refused before a byte of it is taken."""
import time

os.write(3, struct.pack("<IHHQII", 0xFFFFFFFF, 3, 0, 0, 2, 0))
time.sleep(60)
