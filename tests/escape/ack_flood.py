# SPDX-License-Identifier: Apache-2.0
# expect: output
# class: forge
# unwalled: never
# by: supervisor
# within: 25s
"""Events that ask for an answer, which nobody reads: answers must not pile up in the supervisor."""
import socket

import _vivarium

# A frame of the runner's, sent into a socket of our own, tells the nonce.
near, far = socket.socketpair()
channel = os.dup(3)
os.dup2(near.fileno(), 3)
_vivarium.send(3, 0, b"{}")
nonce = struct.unpack("<IHHQ", far.recv(16))[3]
os.dup2(channel, 3)

body = b'{"type":"display","data":{"a":1}}'
frames = (struct.pack("<IHHQ", len(body), 3, 1, nonce) + body) * 1000
out = socket.socket(fileno=channel)
for number in range(1000):
    out.sendall(frames)
breach("a million events were taken")
