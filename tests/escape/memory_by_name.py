# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
# by: supervisor
"""A process whose name looks like the line that a measuring supervisor reads."""
import time

PR_SET_NAME = 15


def hide(name):
    _libc.prctl(PR_SET_NAME, name, 0, 0, 0)
    kept = []
    for number in range(30):
        kept.append(bytearray(b"\1") * (10 << 20))
        time.sleep(0.01)
    time.sleep(0.5)
    print(f"BREACH: 300 MiB as {name!r} with a limit of 128 MiB", flush=True)


for name in (b"RssAnon:0", b"RssAnon:\t0 kB", b"Pss_Anon:0"):
    in_child(lambda: hide(name))
    time.sleep(0.2)
