# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# limits: timeout=4s
# unwalled: never
# check: neighbour
# stdout: READY
"""Takes all watches the user may have; a neighbour still gets one."""
count = 0
while count < 5000 and _libc.inotify_init() >= 0:
    count += 1
print(f"{count} instances")
print("READY", flush=True)
signal.pause()
