# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "landlock" (landlock: rights on files).

# probe: odd_files
# tries: make a device node that needs no privilege (a whiteout)
# control: any
tries('whiteout', os.mknod, 'whiteout', 0o20600, 0)

# probe: write_proc
# tries: write to its own files in /proc
# control: any
for n in 'mem comm oom_score_adj coredump_filter clear_refs uid_map setgroups'.split():
    try:
        os.close(os.open('/proc/self/' + n, os.O_WRONLY))
    except OSError:
        continue
    breach('/proc/self/' + n)

# probe: listen
# tries: listen on a port of its own
# control: any
def listen():
    s = socket.socket(socket.AF_INET)
    s.bind(('127.0.0.1', 0))
    s.listen()
tries('listen', listen)

# probe: device_ioctl
# tries: an ioctl on a device that reading would allow
# control: any
import fcntl
fd = os.open('/dev/urandom', os.O_RDONLY)
tries('RNDGETENTCNT', fcntl.ioctl, fd, 0x80045200, bytes(4))
