# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp landlock
# unwalled: safe
"""Drivers are reached by ioctl: on files, pipes, sockets and devices."""
import socket

base = "/workspace" if WALLED else _args["work"]
fds = {"file": os.open(f"{base}/f", os.O_CREAT | os.O_RDWR), "folder": os.open(base, os.O_RDONLY),
       "pipe": os.pipe()[0],
       "socket": socket.socketpair()[0].detach(),
       "null": os.open("/dev/null", os.O_RDWR),
       "system file": os.open("/usr/bin/env", os.O_RDONLY)}
numbers = {"FIBMAP": 1, "FICLONE": 0x40049409, "FS_IOC_GETFLAGS": 0x80086601,
           "FS_IOC_SETFLAGS": 0x40086602,
           "FS_IOC_FIEMAP": 0xC020660B, "FS_IOC_GETVERSION": 0x80087601, "FIFREEZE": 0xC0045877,
           "FITRIM": 0xC0185879,
           "FS_IOC_GETFSUUID": 0x80111500, "BLKGETSIZE64": 0x80081272, "LOOP_CTL_GET_FREE": 0x4C82,
           "SIOCGIFNAME": 0x8910, "SIOCINQ+high": 0x1_0000_8912, "KVM_CREATE_VM": 0xAE01,
           "VT_DISALLOCATE": 0x5608,
           "NS_GET_PARENT": 0xB702, "FS_IOC_ADD_ENCRYPTION_KEY": 0xC0506617}
for kind, fd in fds.items():
    for name, number in numbers.items():
        result, code = call(16, fd, number, ctypes.create_string_buffer(256))
        if result >= 0 or code not in (errno.ENOTTY, EPERM, EACCES):
            breach(f"{name} on a {kind}: {name_of(code) if result < 0 else result}")
held("no driver")
