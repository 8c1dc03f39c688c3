# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "fds" (descriptors: what was open when it started).

# probe: inherited
# tries: find descriptors besides the three pipes and the channel
# control: any
for fd in range(0, 65536):
    try:
        os.fstat(fd)
    except OSError:
        continue
    if fd > 3:
        breach('descriptor %d' % fd)
    try:
        leak('read descriptor %d' % fd, os.pread(fd, 4096, 0))
    except OSError:
        pass

# probe: environment
# tries: read the environment viv was started with
# control: any
leak('environment', repr(dict(os.environ)))
try:
    leak('/proc/self/environ', slurp('/proc/self/environ'))
except OSError:
    pass

# probe: working_folder
# tries: stand outside the root (runc's CVE-2024-21626)
# control: any
if not (os.getcwd() + '/').startswith('/workspace/'):
    breach(os.getcwd())
for fd in range(0, 16):
    try:
        os.chdir('/proc/self/fd/%d' % fd)
    except OSError:
        continue
    breach('chdir to descriptor %d' % fd)

# probe: terminal
# tries: reach the terminal that viv was started from, or type into it
import fcntl
tries('/dev/tty', os.open, '/dev/tty', os.O_RDWR)
for fd in (0, 1, 2):
    if os.isatty(fd):
        breach('descriptor %d is a terminal' % fd)
    tries('TIOCSTI', fcntl.ioctl, fd, 0x5412, b'x')
