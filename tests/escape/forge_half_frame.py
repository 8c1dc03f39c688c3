# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: forge
# unwalled: never
# by: supervisor
# limits: timeout=3s
# within: 15s
"""Says half a frame and no more: nobody waits for the rest with a busy loop, or longer than the run."""
import time

os.write(3, struct.pack("<IHHQII", 100, 3, 0, 0, 2, 0) + b"{")
time.sleep(60)
