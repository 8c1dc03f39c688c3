# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: pids=32
# unwalled: never
# stdout: stopped by EAGAIN
"""Forks until it may not, and leaves the children behind: all die with the run."""
count = 0
try:
    while count < 200:
        if os.fork() == 0:
            signal.pause()
            os._exit(0)
        count += 1
    breach(f"{count} processes with a limit of 32")
except OSError as error:
    print(f"stopped by {name_of(error.errno)}")
    if not 8 <= count < 32:
        breach(f"{count} children with a limit of 32")
