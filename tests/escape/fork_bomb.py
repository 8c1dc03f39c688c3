# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# walls: rlimit pid
# limits: timeout=4s pids=48
# unwalled: never
# check: neighbour
# stdout: READY
"""Doubles for ever; a neighbour can still start processes."""
print("READY", flush=True)
while True:
    try:
        os.fork()
    except OSError:
        pass
