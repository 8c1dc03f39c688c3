# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: mount seccomp
# unwalled: root
"""Makes a network of its own."""
import fcntl

for path in ("/dev/net/tun", "/dev/tun", "/dev/vhost-net", "/dev/ppp"):
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError as error:
        held(f"{path}: {name_of(error.errno)}")
        continue
    breach(f"{path} opens")
    if WALLED:
        fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22s", b"viv0", 0x1001, b""))
if WALLED:
    attempt("mknod tun", os.mknod, "/workspace/tun", 0x2000 | 0o666, os.makedev(10, 200))
