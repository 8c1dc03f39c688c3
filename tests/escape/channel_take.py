# SPDX-License-Identifier: Apache-2.0
# expect: ok | backend | timeout
# class: forge
# unwalled: never
# limits: timeout=6s
# within: 18s
"""Puts something else where the channel was."""
import socket

left, right = socket.socketpair()
os.dup2(left.fileno(), 3)
print("replaced", flush=True)
