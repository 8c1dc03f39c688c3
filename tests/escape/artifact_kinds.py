# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: mount
# unwalled: never
# check: out_is_plain
# status: 125
"""Leaves fifos, sockets, hard links, holes and setuid files where artifacts are collected."""
import socket

os.mkfifo("/workspace/fifo.csv")
server = socket.socket(socket.AF_UNIX)
server.bind("/workspace/socket.csv")
with open("/workspace/one.txt", "w") as file:
    file.write("one")
os.link("/workspace/one.txt", "/workspace/two.txt")
with open("/workspace/suid.sh", "w") as file:
    file.write("#!/bin/sh\n")
os.chmod("/workspace/suid.sh", 0o6755)
with open("/workspace/secret.bin", "w") as file:
    file.write("x")
os.chmod("/workspace/secret.bin", 0)
for number, kind in ((0x2000, (1, 1)), (0x6000, (8, 0)), (0x2000, (1, 11))):
    attempt(f"mknod {kind}", os.mknod, f"/workspace/dev{kind[0]}{kind[1]}", number | 0o666,
            os.makedev(*kind))
