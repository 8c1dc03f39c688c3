# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "seccomp" (seccomp: system calls).

# probe: filter
# tries: run without a filter
# control: any
rows = dict(l.split(':\t', 1) for l in slurp('/proc/self/status').decode().splitlines())
if rows['Seccomp'] != '2':
    breach('Seccomp ' + rows['Seccomp'])

# probe: kernel_surface
# tries: reach io_uring, bpf, userfaultfd, perf, keys, ptrace, splice and more
# control: any
for n, number in sorted(_args['sys'].items()):
    try:
        sysc(number, -1, -1, -1, -1, -1, -1)
        breach(n)
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.ENOSYS):
            breach(n + ' reaches the kernel: ' + name(e))

# probe: clone
# tries: make namespaces by clone and clone3
# control: any
def clone(number, *args):
    pid = sysc(number, *args)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
for flag in (0x10000000, 0x10020000, 0x10000000 | 0x20000000, 0x10000000 | 0x40000000):
    tries('clone %#x' % flag, clone, _args['clone'], flag | 17, 0, 0, 0, 0)
room = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
tries('clone3', clone, _args['clone3'], ctypes.addressof(room), 88)

# probe: x32
# tries: enter the kernel by its x32 table
# ends: killed
if os.uname().machine == 'x86_64':
    try:
        sysc(0x40000000 | 39)
    except OSError as e:
        breach('x32 reaches the kernel: ' + name(e))
    else:
        breach('x32')
else:
    os.kill(os.getpid(), 9)

# probe: i386
# tries: enter the kernel by its 32-bit table
# ends: killed
if os.uname().machine == 'x86_64':
    import mmap
    room = mmap.mmap(-1, 4096, prot=7)
    room.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')  # mov 20,eax; int 0x80; ret
    at = ctypes.addressof(ctypes.c_char.from_buffer(room))
    breach('i386 getpid: %d' % ctypes.CFUNCTYPE(ctypes.c_int)(at)())
else:
    os.kill(os.getpid(), 9)
