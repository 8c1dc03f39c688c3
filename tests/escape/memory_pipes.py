# SPDX-License-Identifier: Apache-2.0
# expect: ok | memory | exception
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
"""Full pipes are memory of the kernel."""
import fcntl

pipes = 0
total = 0
try:
    for number in range(20000):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            fcntl.fcntl(writer, 1031, 1 << 20)
            breach("a pipe of 1 MiB")
        except OSError:
            pass
        try:
            while True:
                total += os.write(writer, bytes(1 << 16))
        except BlockingIOError:
            pass
        pipes += 1
    breach(f"{pipes} pipes, {total >> 20} MiB")
except OSError as error:
    print(f"{pipes} pipes, {total >> 20} MiB, stopped by {name_of(error.errno)}")
    if total > 256 << 20:
        breach(f"{total >> 20} MiB in pipes")
