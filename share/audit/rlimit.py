# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "rlimit" (resource limits of one process).

# probe: raise
# tries: raise its own limits
import resource as r
for n in dir(r):
    if n.startswith('RLIMIT_'):
        soft, hard = r.getrlimit(getattr(r, n))
        if hard != r.RLIM_INFINITY:
            tries(n, r.setrlimit, getattr(r, n), (hard + 1, hard + 1))

# probe: values
# tries: dump core, fill message queues, pile up signals
# control: any
import resource as r
for n, most in (('CORE', 1), ('MSGQUEUE', 0), ('SIGPENDING', 4096),
                ('MEMLOCK', 65536), ('NOFILE', _args['open']), ('RTPRIO', 0)):
    hard = r.getrlimit(getattr(r, 'RLIMIT_' + n))[1]
    if hard > most or hard == r.RLIM_INFINITY:
        breach('%s %d' % (n, hard))

# probe: open_files
# tries: open more files than the policy allows
fds = []
try:
    while len(fds) <= _args['open']:
        fds.append(os.open('/dev/null', os.O_RDONLY))
except OSError:
    pass
if len(fds) > _args['open']:
    breach('%d open files' % len(fds))
for fd in fds:
    os.close(fd)

# probe: lock_memory
# tries: lock memory that cannot be swapped
# control: root
room = ctypes.create_string_buffer(4 << 20)
tries('mlock', lambda: check(libc.mlock(room, 4 << 20)))
tries('mlockall', lambda: check(libc.mlockall(2)))
