# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: net seccomp
# unwalled: safe
"""Sends datagrams to the host and to the world."""
import socket

for address in (("127.0.0.1", _args["udp_port"]), ("255.255.255.255", 9), ("192.0.2.1", 53)):
    if not WALLED and address[0] != "127.0.0.1":
        continue
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(2)
            sock.sendto(b"hello from inside", address)
            breach(f"sent to {address}")
            if address[0] == "127.0.0.1":
                breach(f"answer: {sock.recv(200)!r}")
    except OSError as error:
        held(f"{address}: {error}")
