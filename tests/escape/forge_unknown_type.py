# SPDX-License-Identifier: Apache-2.0
# expect: killed
# exit: 137
# signal: 9
# class: forge
# unwalled: never
# by: supervisor
# within: 15s
"""Types and flags that are not in the table, and those that only viv may send."""
import time

for kind in (0, 10, 99, 65535, 2, 6, 7, 8):
    os.write(3, struct.pack("<IHHQII", 0, kind, 0xFFFF, 0, 2, 0))
time.sleep(60)
