# SPDX-License-Identifier: Apache-2.0
# expect: ok | killed
# class: forge
# unwalled: never
# within: 20s
"""Sends descriptors out through the channel, as many as fit."""
import array
import socket

channel = socket.socket(fileno=os.dup(3))
fds = array.array("i", [os.open("/dev/null", os.O_RDONLY) for _ in range(200)])
text = b'{"type":"display","data":{"text/plain":"x"}}'
for number in range(50):
    try:
        channel.sendmsg([struct.pack("<IHHQII", len(text), 3, 0, 0, 0, 0) + text],
                        [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    except OSError as error:
        print("refused:", error)
        break
