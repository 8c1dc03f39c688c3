# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: dos
# limits: timeout=3s
# unwalled: never
# within: 8s
# by: supervisor
# stdout: done
"""Whatever runs at the end of an interpreter does not end: atexit, threads, finalizers.
A one-shot run waits for them as a script would, and its deadline holds."""
import atexit
import threading
import time


class Endless:
    def __del__(self):
        while True:
            pass


def forever():
    while True:
        time.sleep(0.01)


keep = Endless()
keep.me = keep
atexit.register(forever)
threading._register_atexit(forever)
threading.Thread(target=forever).start()
print("done")
