# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# walls: rlimit
# unwalled: never
"""Timers and queued signals belong to the user, not to the process."""
count = 0
timer = ctypes.c_int()
while count < 100_000:
    result, number = call("timer_create", 1, None, ctypes.addressof(timer))
    if result < 0:
        break
    count += 1
print(f"{count} timers, {name_of(number)}")
if count > 300:
    breach(f"{count} timers")
