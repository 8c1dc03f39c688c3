# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: seccomp caps net
# unwalled: root
"""Raw and packet sockets, ping sockets: to see or to forge what others send."""
import socket

by = (EPERM, EACCES, errno.EAFNOSUPPORT)
for what, family, kind, protocol in (
        ("packet", socket.AF_PACKET, socket.SOCK_RAW, 0),
                                     ("packet, cooked", socket.AF_PACKET, socket.SOCK_DGRAM, 0),
        ("raw icmp", socket.AF_INET, socket.SOCK_RAW, 1),
                                     ("raw", socket.AF_INET, socket.SOCK_RAW, 255),
        ("raw v6", socket.AF_INET6, socket.SOCK_RAW, 58),
                                     ("ping", socket.AF_INET, socket.SOCK_DGRAM, 1)):
    attempt(what, lambda: socket.socket(family, kind, protocol).close(), by=by)
