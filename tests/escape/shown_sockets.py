# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: mount seccomp
# shown: yes
# unwalled: safe
"""A folder of the host is shown, read-only. Sockets that lie in it have listeners outside."""
import socket

for name, kind in (("stream", socket.SOCK_STREAM), ("datagram", socket.SOCK_DGRAM), ("stream", socket.SOCK_SEQPACKET)):
    path = os.path.join(_args["shown"], name)
    try:
        with socket.socket(socket.AF_UNIX, kind) as sock:
            sock.settimeout(2)
            if kind == socket.SOCK_DGRAM:
                sock.bind("\0answer" + _args["mark"])
            sock.connect(path)
            sock.send(b"from inside")
            breach(f"{path}: {sock.recv(200)!r}")
    except OSError as error:
        held(f"{path}: {error}")
# A pair has no name to connect to, but a datagram socket of a pair can still be sent anywhere.
path = os.path.join(_args["shown"], "datagram")
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    for way in ("sendto", "connect"):
        try:
            one, other = socket.socketpair(socket.AF_UNIX, kind)
            one.sendto(b"from a pair", path) if way == "sendto" else one.connect(path)
            other.setblocking(False)
            other.recv(100)  # the name was not looked at: it came to the other end
            held(f"a pair of type {kind}, {way}: it stays in the pair")
        except BlockingIOError:
            breach(f"{path}: {way} from a pair of type {kind}")
        except OSError as error:
            held(f"a pair of type {kind}, {way}: {error}")
