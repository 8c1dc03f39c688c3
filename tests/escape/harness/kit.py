# SPDX-License-Identifier: Apache-2.0
# The attacker's kit: put in front of every hostile program, walled or not.
# `_args` tells where the planted secrets and targets are; the tokens themselves are never told.
import ctypes
import errno
import os
import signal
import struct
import sys

EPERM, ENOSYS, EACCES, ENOENT = errno.EPERM, errno.ENOSYS, errno.EACCES, errno.ENOENT
WALLED = _args.get("walled", True)  # noqa: F821 - given by the run

# x86_64; the harness refuses other machines.
NR = dict(
    getpid=39, clone=56, kill=62, shmget=29, shmat=30, semget=64, msgget=68, ptrace=101,
          personality=135,
    ustat=136, vhangup=153, modify_ldt=154, pivot_root=155, adjtimex=159, chroot=161, acct=163,
    settimeofday=164, mount=165, umount2=166, swapon=167, swapoff=168, reboot=169, sethostname=170,
    setdomainname=171, iopl=172, ioperm=173, init_module=175, delete_module=176, quotactl=179,
    lookup_dcookie=212, clock_settime=227, mbind=237, set_mempolicy=238, mq_open=240,
          kexec_load=246,
    add_key=248, request_key=249, keyctl=250, migrate_pages=256, unshare=272, splice=275, tee=276,
    vmsplice=278, move_pages=279, perf_event_open=298, fanotify_init=300, fanotify_mark=301,
    name_to_handle_at=303, open_by_handle_at=304, clock_adjtime=305, setns=308,
          process_vm_readv=310,
    process_vm_writev=311, kcmp=312, finit_module=313, seccomp=317, kexec_file_load=320, bpf=321,
    userfaultfd=323, io_uring_setup=425, io_uring_enter=426, io_uring_register=427, open_tree=428,
    move_mount=429, fsopen=430, fsconfig=431, fsmount=432, fspick=433, pidfd_open=434, clone3=435,
    pidfd_getfd=438, process_madvise=440, mount_setattr=442, quotactl_fd=443,
    landlock_create_ruleset=444, landlock_add_rule=445, landlock_restrict_self=446,
          memfd_secret=447,
    process_mrelease=448, syslog=103, capset=126, capget=125, prctl=157, timer_create=222,
    sched_setscheduler=144, ioprio_set=251, prlimit64=302, set_mempolicy_home_node=450,
          statmount=457,
    listmount=458, lsm_set_self_attr=460, mq_unlink=241, uselib=134, execveat=322)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def breach(what):
    print("BREACH: " + what, flush=True)


def held(what):
    print("held: " + what, flush=True)


def name_of(number):
    return errno.errorcode.get(number, str(number))


def call(name, *args):
    """A raw system call: (result, errno). Integers, bytes, None and ctypes objects are arguments."""
    ready = []
    for arg in args:
        if isinstance(arg, int):
            ready.append(ctypes.c_long(arg))
        elif isinstance(arg, (ctypes.Structure, ctypes.Array)):
            ready.append(ctypes.byref(arg))
        else:
            ready.append(arg)
    number = NR[name] if isinstance(name, str) else name
    ctypes.set_errno(0)
    result = _libc.syscall(ctypes.c_long(number), *ready)
    return result, ctypes.get_errno() if result == -1 else 0


def refused(name, *args, by=(EPERM, ENOSYS)):
    """The filter must answer this call. Any other end means that it reached the kernel."""
    result, number = call(name, *args)
    if result == -1 and number in by:
        held(f"{name}: {name_of(number)}")
        return True
    breach(f"{name} reached the kernel: " + (name_of(number) if result == -1 else f"= {result}"))
    return False


def attempt(what, function, *args, by=(EPERM, EACCES, ENOENT), **kw):
    """Python's way to the same: must raise an OSError of one of these kinds."""
    try:
        result = function(*args, **kw)
    except OSError as error:
        if error.errno in by:
            held(f"{what}: {name_of(error.errno)}")
        else:
            breach(f"{what}: {name_of(error.errno)} is not a wall's answer")
        return None
    breach(f"{what}: worked")
    return result


def steal(path):
    """Reads a planted secret and prints it: the harness looks for the token."""
    try:
        with open(path, "rb") as file:
            text = file.read(200)
    except OSError as error:
        held(f"read {path}: {name_of(error.errno)}")
        return
    breach(f"read {path}: {text!r}")


def in_child(function):
    """Runs it in a fork; how that ended, as from os.waitstatus_to_exitcode."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(int(function() or 0) & 0xFF)
        except BaseException:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def status_of(pid="self"):
    """/proc/PID/status as a dict."""
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
