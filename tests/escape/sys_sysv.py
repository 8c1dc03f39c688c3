# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: ipc seccomp
# unwalled: safe
"""Shared memory, semaphores and queues by well-known keys."""
segment, number = call("shmget", _args["sysv_key"], 4096, 0)
if segment >= 0:
    _libc.shmat.restype = ctypes.c_void_p
    address = _libc.shmat(ctypes.c_int(segment), None, ctypes.c_int(0o10000))
    breach(f"shared memory of the host: {ctypes.string_at(address, 60)!r}")
refused("shmget", _args["sysv_key"], 4096, 0)
refused("shmget", _args["sysv_key"] + 1, 1 << 20, 0)
refused("semget", _args["sysv_key"], 1, 0)
refused("msgget", _args["sysv_key"], 0)
refused("mq_open", _args["mark"].encode(), 0, 0, None)
refused("mq_unlink", _args["mark"].encode())
