# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: forge
# limits: memory=128M timeout=20s
# unwalled: never
# by: supervisor
"""A child is killed for memory and the parent says that all is well: the fact is told."""
import time

pid = os.fork()
if pid == 0:
    pieces = []
    while True:
        pieces.append(bytearray(b"x" * (1 << 20)))
        time.sleep(0.005)
os.waitpid(pid, 0)
print("all is well")
