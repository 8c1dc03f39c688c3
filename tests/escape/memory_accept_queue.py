# SPDX-License-Identifier: Apache-2.0
# expect: ok | memory | exception
# class: dos
# limits: memory=128M timeout=20s
# unwalled: never
"""Connections that nobody accepts keep what was sent, and need no descriptor once they are closed."""
import socket

MOST = 400 << 20

held_bytes = count = 0
try:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("/tmp/queue")
    listener.listen(4096)
    while held_bytes < MOST:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.setblocking(False)
            peer.connect("/tmp/queue")
            try:
                while True:
                    held_bytes += peer.send(bytes(1 << 16))
            except BlockingIOError:
                pass
        count += 1
except OSError as error:
    held(f"{count} connections, {held_bytes >> 20} MiB, then {name_of(error.errno)}")
if held_bytes >= MOST:
    breach(f"{held_bytes >> 20} MiB in {count} closed connections with a limit of 128 MiB")
