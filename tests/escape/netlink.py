# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: net
# walls: seccomp net
# unwalled: safe
"""Asks the kernel about links, routes, audit and firewall, and brings loopback up."""
import fcntl
import socket

by = (EPERM, EACCES, errno.EAFNOSUPPORT)
for protocol, name in ((0, "route"), (9, "audit"), (12, "netfilter"), (15, "uevent"),
                       (16, "generic"), (6, "xfrm"), (4, "diag")):
    attempt(f"netlink {name}", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                                                     protocol).close(), by=by)
left, right = socket.socketpair()
request = struct.pack("16sH14s", b"lo", 0, b"")
for what, number in (("SIOCGIFFLAGS", 0x8913), ("SIOCSIFFLAGS", 0x8914), ("SIOCGIFCONF", 0x8912),
                     ("SIOCADDRT", 0x890B), ("SIOCSIFADDR", 0x8916), ("SIOCETHTOOL", 0x8946),
                     ("SIOCBRADDBR", 0x89A0)):
    if not WALLED and number != 0x8913:
        continue
    try:
        fcntl.ioctl(left, number, request)
        breach(f"{what} worked")
    except OSError as error:
        held(f"{what}: {name_of(error.errno)}")
for path in ("/proc/net/dev", "/proc/net/route", "/proc/net/tcp", "/proc/net/arp",
             "/sys/class/net/lo"):
    if os.path.exists(path):
        breach(f"{path} is there")
