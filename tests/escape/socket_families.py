# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: seccomp
# unwalled: safe
"""Every address family and type: only unix sockets may be made."""
import socket

made = set()
for family in range(0, 48):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, 4,
                 10):
        for protocol in (0, 1, 6, 17, 132, 255):
            try:
                socket.socket(family, kind, protocol).close()
                made.add(family)
            except OSError:
                pass
print("families:", sorted(made))
for family in sorted(made - {socket.AF_UNIX}):
    breach(f"family {family} can be made")
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    try:
        socket.socketpair(family)
        breach(f"a pair of family {family}")
    except OSError:
        pass
