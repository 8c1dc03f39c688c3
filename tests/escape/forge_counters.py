# SPDX-License-Identifier: Apache-2.0
# expect: killed
# exit: 137
# signal: 9
# class: forge
# unwalled: never
# by: supervisor
# within: 15s
"""A frame from the future: one that came before it must have been lost."""
import time

os.write(3, struct.pack("<IHHQII", 2, 3, 0, 0, 1_000_000, 0) + b"{}")
time.sleep(60)
