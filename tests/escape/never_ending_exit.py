# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: timeout=20s
# unwalled: never
# within: 8s
# stdout: done
"""Whatever runs at the end of an interpreter does not end: atexit, threads, finalizers."""
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
