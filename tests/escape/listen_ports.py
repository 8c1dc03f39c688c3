# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: seccomp net landlock
# unwalled: safe
"""Opens a door of its own to the host's network."""
import socket

by = (EPERM, EACCES, errno.EAFNOSUPPORT)
for family, address in ((socket.AF_INET, ("0.0.0.0", 0)), (socket.AF_INET, ("127.0.0.1", 0)),
                        (socket.AF_INET6, ("::", 0))):
    def listen():
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.bind(address)
            sock.listen(1)
            return sock.getsockname()
    attempt(f"listen on {address}", listen, by=by)
