# SPDX-License-Identifier: Apache-2.0
# expect: memory
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
# by: supervisor
"""The first thread ends, another takes the memory: /proc/PID/status of such a process has none."""
import threading
import time

EXIT_THREAD = 60


def take():
    kept = []
    for number in range(60):
        kept.append(bytearray(b"\1") * (10 << 20))
        time.sleep(0.01)
    time.sleep(0.5)
    os.write(1, b"BREACH: 600 MiB with a limit of 128 MiB\n")
    os._exit(0)


pid = os.fork()
if pid == 0:
    threading.Thread(target=take).start()
    _libc.syscall(EXIT_THREAD, 0)
os.waitpid(pid, 0)
time.sleep(2)
