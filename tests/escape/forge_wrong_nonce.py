# SPDX-License-Identifier: Apache-2.0
# expect: exit
# class: forge
# unwalled: never
# exit: 3
"""Frames for other runs: dropped, every one."""
import socket

import _vivarium

# Frames of the runner's own, so that their counters are right, caught and changed on their way.
near, far = socket.socketpair()
channel = os.dup(3)
os.dup2(near.fileno(), 3)
for nonce in range(0, 300):
    for kind, text in ((5, b'{"kind":"ok","exit_code":0}'),
                       (3, b'{"type":"result","result":{"text/plain":"BREACH: forged"}}'),
                       (3,
                        b'{"type":"error","error":{"type":"BREACH: forged","message":"","traceback":"","line":1}}')):
        _vivarium.send(kind, 0, text)
        frame = bytearray(far.recv(4096))
        if frame[8:16] != nonce.to_bytes(8, "little"):
            os.write(channel, frame[:8] + nonce.to_bytes(8, "little") + frame[16:])
os.dup2(channel, 3)
sys.exit(3)
