# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: forge
# walls: pid
# unwalled: never
# stdout: still here
"""Kills the init of its own namespace."""
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGINT, signal.SIGHUP,
               signal.SIGSEGV):
    try:
        os.kill(1, number)
    except OSError as error:
        held(f"{number}: {name_of(error.errno)}")
import time

time.sleep(0.2)
print("still here")
