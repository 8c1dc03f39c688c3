# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: root
"""Programs for the kernel: none from inside."""
for command in (0, 5, 9999):
    refused("bpf", command, None, 0)
import socket

left, right = socket.socketpair()
for option in (26, 50, 27, 51):  # ATTACH_FILTER, ATTACH_BPF, DETACH_FILTER, ATTACH_REUSEPORT_CBPF
    attempt(f"setsockopt {option}", left.setsockopt, socket.SOL_SOCKET, option, b"",
            by=(EPERM, EACCES, errno.ENOPROTOOPT))
