# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: net mount
# unwalled: safe
"""Resolves names: with no network there is nobody to ask, and no host file to read."""
import socket

try:
    with open("/etc/resolv.conf") as file:
        servers = [line for line in file if line.startswith("nameserver")]
    if servers:
        breach(f"/etc/resolv.conf names {servers}")
except OSError as error:
    held(f"resolv.conf: {name_of(error.errno)}")
for name in (("example.com", "localhost.localdomain") if WALLED else ()):
    try:
        breach(f"{name}: {socket.getaddrinfo(name, 80)}")
    except OSError as error:
        held(f"{name}: {error}")
if not WALLED:
    attempt("a resolver's socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close())
