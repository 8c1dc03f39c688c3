# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
"""Traces and copies the memory of other processes, even its own children's."""
pid = os.fork()
if pid == 0:
    signal.pause()
    os._exit(0)
piece = ctypes.create_string_buffer(64)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(piece), 64)
refused("process_vm_readv", pid, vector, 1, vector, 1, 0)
refused("process_vm_writev", pid, vector, 1, vector, 1, 0)
refused("kcmp", os.getpid(), pid, 0, 0, 0)
refused("ptrace", 16, pid, 0, 0)
refused("ptrace", 0x4206, pid, 0, 0)
pidfd = os.pidfd_open(pid)
refused("process_madvise", pidfd, vector, 1, 20, 0)
refused("process_mrelease", pidfd, 0)
os.kill(pid, 9)
os.waitpid(pid, 0)
if in_child(lambda: call("ptrace", 0, 0, 0, 0)[0] == 0):
    breach("traceme worked")
