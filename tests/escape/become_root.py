# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: privilege
# walls: caps user
# unwalled: root
"""Asks to be somebody else."""
for what, function, args in (("setuid", os.setuid, (0,)), ("setgid", os.setgid, (0,)),
                             ("setresuid", os.setresuid, (0, 0, 0)),
                             ("setresgid", os.setresgid, (0, 0, 0)),
                             ("setgroups", os.setgroups, ([0],)),
                             ("seteuid", os.seteuid, (0,)), ("setreuid", os.setreuid, (0, 0)),
                             ("initgroups", os.initgroups, ("root", 0))):
    attempt(what, function, *args, by=(EPERM, errno.EINVAL))
if WALLED:
    for uid in (1, 65534, 100000):
        attempt(f"setuid {uid}", os.setuid, uid, by=(EPERM, errno.EINVAL))
if 0 in (*os.getresuid(), *os.getresgid()):
    breach(f"ids are {os.getresuid()} {os.getresgid()}")
