# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: net landlock
# unwalled: safe
"""Connects to an abstract unix socket of the host."""
import socket

for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    with socket.socket(socket.AF_UNIX, kind) as sock:
        sock.settimeout(2)
        try:
            sock.connect("\0" + _args["mark"])
            breach(f"connected: {sock.recv(200)!r}")
        except OSError as error:
            held(f"{kind}: {name_of(error.errno)}")
try:
    with open("/proc/net/unix") as file:
        names = [line.split()[-1] for line in file if "@" in line]
        if names:
            breach(f"abstract sockets in sight: {names[:3]}")
except OSError as error:
    held(f"/proc/net/unix: {name_of(error.errno)}")
