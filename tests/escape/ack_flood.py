# SPDX-License-Identifier: Apache-2.0
# expect: timeout
# class: forge
# limits: timeout=3s
# unwalled: never
# by: supervisor
# within: 25s
"""Events that ask for an answer, which nobody reads: answers must not pile up in the supervisor."""
import socket

import _vivarium

# A frame of the runner's, sent into a socket of our own, tells the nonce and the counter.
near, far = socket.socketpair()
channel = os.dup(3)
os.dup2(near.fileno(), 3)
_vivarium.send(3, 0, b"{}")
nonce, counter = struct.unpack("<IHHQII", far.recv(24))[3:5]
os.dup2(channel, 3)

body = b'{"type":"display","data":{"a":1}}'
out = socket.socket(fileno=channel)
for first in range(counter, counter + 1_000_000, 1000):
    out.sendall(b"".join(struct.pack("<IHHQII", len(body), 3, 1, nonce, number, 0) + body
                         for number in range(first, first + 1000)))
breach("a million events were taken")
