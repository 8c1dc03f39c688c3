# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: net seccomp
# unwalled: safe
"""Connects to a server on the host's loopback."""
import socket

for family, address in ((socket.AF_INET, ("127.0.0.1", _args["tcp_port"])),
                        (socket.AF_INET, ("0.0.0.0", _args["tcp_port"])),
                        (socket.AF_INET6, ("::1", _args["tcp_port"])),
                        (socket.AF_INET6, ("::ffff:127.0.0.1", _args["tcp_port"]))):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(2)
            sock.connect(address)
            breach(f"{address}: {sock.recv(200)!r}")
    except OSError as error:
        held(f"{address}: {name_of(error.errno)}")
