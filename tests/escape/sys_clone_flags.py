# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""The same by clone, raw, and by clone3, whose flags no filter can read."""
flags = dict(user=0x10000000, mnt=0x20000, pid=0x20000000, net=0x40000000, ipc=0x8000000,
             uts=0x4000000, cgroup=0x2000000)
for name, flag in flags.items():
    result, number = call("clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    if result > 0:
        os.waitpid(result, 0)
        breach(f"clone with a new {name} namespace")
    elif number != EPERM:
        breach(f"clone {name}: {name_of(number)}")
for flag in (0, 0x10000000):
    arguments = ctypes.create_string_buffer(struct.pack("QQQQQQQQ", flag, 0, 0, 0, signal.SIGCHLD,
                                                        0, 0, 0))
    result, number = call("clone3", arguments, 64)
    if result == 0:
        os._exit(0)
    if result > 0:
        os.waitpid(result, 0)
        breach(f"clone3 with flags {flag:#x}")
    elif number != ENOSYS:
        breach(f"clone3: {name_of(number)}, not ENOSYS")
held("plain forks only")
