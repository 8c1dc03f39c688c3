# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: pids=32
# unwalled: never
# stdout: no more threads
"""Threads until there are no more."""
import threading

go = threading.Event()
count = 0
try:
    while count < 500:
        threading.Thread(target=go.wait, daemon=True).start()
        count += 1
    breach(f"{count} threads with a limit of 32")
except RuntimeError:
    print("no more threads")
    if not 8 <= count < 32:
        breach(f"{count} threads with a limit of 32")
