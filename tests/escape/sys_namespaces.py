# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp user
# unwalled: safe
"""New namespaces, in which an ordinary user is root of a young kernel path."""
flags = dict(user=0x10000000, mnt=0x20000, pid=0x20000000, net=0x40000000, ipc=0x8000000,
             uts=0x4000000, cgroup=0x2000000, time=0x80, files=0x400,
             fs=0x200)
for name, flag in flags.items():
    if not in_child(lambda: 0 if call("unshare", flag)[1] in (EPERM, ENOSYS) else 1):
        held(f"unshare {name}")
    else:
        breach(f"unshare {name} reached the kernel")
refused("setns", 0, 0x10000000)
