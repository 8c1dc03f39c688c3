# SPDX-License-Identifier: Apache-2.0
# expect: ok | memory | exception
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
"""So are full sockets, and descriptors in flight in them."""
import array
import socket

total = pairs = 0
kept = []
try:
    for number in range(20000):
        left, right = socket.socketpair()
        left.setblocking(False)
        left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        kept += [left, right]
        try:
            while True:
                total += left.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        pairs += 1
    breach(f"{pairs} pairs, {total >> 20} MiB")
except OSError as error:
    print(f"{pairs} pairs, {total >> 20} MiB, stopped by {name_of(error.errno)}")
    if total > 512 << 20:
        breach(f"{total >> 20} MiB in sockets")
