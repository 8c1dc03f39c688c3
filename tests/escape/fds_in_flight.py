# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# unwalled: never
"""Descriptors in flight are counted per host user, against the limit of whoever sends next.

More than 1024 of them, the usual limit, and no program of that user can pass a descriptor.
"""
import array
import socket

USUAL = 1024

with open("/proc/self/uid_map") as file:
    is_shared = file.read().split()[1] == "0"  # the one id of whoever started viv, not one of many
in_flight = 0
kept = []
try:
    while in_flight < 4 * USUAL:
        left, right = socket.socketpair()
        kept += [left, right]
        left.setblocking(False)
        try:
            while True:
                left.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                       array.array("i", [1] * 253))])
                in_flight += 253
        except BlockingIOError:
            pass
except OSError as error:
    held(f"{in_flight} in flight, then {name_of(error.errno)}")
if in_flight >= (USUAL if is_shared else 4 * USUAL):
    breach(f"{in_flight} descriptors in flight under a shared uid")
