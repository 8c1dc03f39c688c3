# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: proc
# walls: seccomp pid
# unwalled: never
"""Takes over the process that watches it: trace, memory, descriptors, limits, signals."""
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
refused("ptrace", PTRACE_ATTACH, 1, 0, 0)
refused("ptrace", PTRACE_SEIZE, 1, 0, 0)
piece = ctypes.create_string_buffer(64)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(piece), 64)
refused("process_vm_readv", 1, vector, 1, vector, 1, 0)
refused("process_vm_writev", 1, vector, 1, vector, 1, 0)
for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
    attempt(f"open init's memory {flags}", os.open, "/proc/1/mem", flags)
pidfd, number = call("pidfd_open", 1, 0)
if pidfd >= 0:
    for fd in range(0, 16):
        refused("pidfd_getfd", pidfd, fd, 0)
limit = (ctypes.c_ulong * 2)(0, 0)
refused("prlimit64", 1, 7, limit, None)
for name in ("oom_score_adj", "comm", "timerslack_ns", "coredump_filter", "clear_refs", "uid_map",
             "setgroups"):
    attempt(f"write init's {name}", os.open, f"/proc/1/{name}", os.O_WRONLY,
            by=(EPERM, EACCES, ENOENT, errno.EROFS))
