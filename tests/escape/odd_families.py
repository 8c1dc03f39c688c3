# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: seccomp
# unwalled: safe
"""The families through which kernels fell lately: crypto, vsock, can, tipc, rxrpc, xdp, bluetooth."""
import socket

by = (EPERM, EACCES, errno.EAFNOSUPPORT)
try:
    with socket.socket(38, socket.SOCK_SEQPACKET) as sock:
        sock.bind(("hash", "sha256"))
        breach("AF_ALG works")
except OSError as error:
    held(f"AF_ALG: {name_of(error.errno)}")
for family, name in ((40, "vsock"), (29, "can"), (30, "tipc"), (33, "rxrpc"), (44, "xdp"),
                     (31, "bluetooth"), (21, "rds"), (41, "kcm"), (42, "qipcrtr"), (43, "smc"),
                     (45, "mctp"), (15, "key"), (4, "ipx"), (3, "ax25"),
                     (39, "nfc")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind, 0).close()
            breach(f"{name} can be made")
        except OSError as error:
            if error.errno not in by and WALLED:
                breach(f"{name}: {name_of(error.errno)} comes from the kernel")
held("none")
