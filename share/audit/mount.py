# SPDX-License-Identifier: Apache-2.0
# Attacks on the wall "mount" (mount namespace: which files it sees).

# probe: own_mnt_namespace
# tries: share the mnt namespace of the host
# control: any
mine = os.readlink('/proc/self/ns/mnt')
if mine == _args['ns']['mnt']:
    breach('the host\'s own ' + mine)

# probe: planted_file
# tries: read a file of the host by its path
# control: any
for path in _args['files']:
    try:
        leak('read ' + path, slurp(path))
    except OSError:
        pass

# probe: host_folders
# tries: find /home, /root, /var, /run, /sys, /boot and secrets in /etc
# control: any
for path in '/home /root /var /run /sys /boot /srv /mnt /media /lost+found'.split():
    try:
        for name in os.listdir(path):
            name = path + '/' + name
            if (name, os.path.realpath(name)) != ('/mnt/data', '/workspace'):
                breach(name + ' is there')
    except OSError:
        pass
for path in '/etc/shadow /etc/gshadow /etc/sudoers /etc/machine-id /etc/ssh'.split():
    if os.path.lexists(path):
        breach(path)

# probe: proc_files
# tries: reach the kernel's files in /proc
# control: any
for n in 'sys sysrq-trigger kcore kallsyms keys kmsg timer_list interrupts'.split():
    if os.path.exists('/proc/' + n):
        breach('/proc/' + n)

# probe: write_root
# tries: write outside /workspace, /tmp and /dev/shm
tops = ['/'] + ['/' + n for n in os.listdir('/') if n not in ('workspace', 'tmp')]
for d in tops + ['/usr/bin', '/usr/lib/python3', '/viv', '/dev', '/proc']:
    tries('created a file in ' + d, os.open, d + '/.viv-audit', os.O_CREAT | os.O_WRONLY)
    tries('made a folder in ' + d, os.mkdir, d + '/.viv-audit.d')
open('mine', 'w').close()
tries('link into /usr', os.link, 'mine', '/usr/.viv-audit')
tries('truncate /usr/bin/env', os.truncate, '/usr/bin/env', 0)
tries('chmod /usr/bin/env', os.chmod, '/usr/bin/env', 0o777)
tries('unlink /usr/bin/env', os.unlink, '/usr/bin/env')

# probe: old_root
# tries: climb back to the host's root
# control: root
ways = ['/proc/1/root', '/proc/1/cwd', '/proc/self/root/' + '../' * 64, '../' * 64]
ways += ['/proc/%d/root' % p for p in range(2, 9)]
for way in ways:
    for path in _args['files']:
        try:
            leak(way, slurp(way + path))
        except OSError:
            pass
tries('chroot', os.chroot, '/proc/1/root')

# probe: mount_calls
# tries: mount, unmount and remount, by the old calls and the new
m = lambda *a: check(libc.mount(*a))
tries('mount tmpfs', m, b'x', b'/workspace', b'tmpfs', 0, None)
tries('mount proc', m, b'x', b'/workspace', b'proc', 0, None)
tries('bind', m, b'/usr', b'/workspace', None, 4096, None)
tries('remount rw', m, None, b'/usr', None, 32 | 4096, None)
tries('umount', lambda: check(libc.umount2(b'/usr', 2)))
for n in ('open_tree', 'fsopen', 'move_mount', 'mount_setattr', 'pivot_root', 'fspick'):
    try:
        sysc(_args['sys'][n], -1, -1, -1, -1, -1)
        breach(n)
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.ENOSYS):
            breach(n + ' reaches the kernel: ' + name(e))

# probe: devices
# tries: find or make device nodes
# control: any
fine = set('null zero full random urandom shm fd stdin stdout stderr'.split())
for n in os.listdir('/dev'):
    if n not in fine:
        breach('/dev/' + n)
tries('mknod mem', os.mknod, 'mem', 0o20600, os.makedev(1, 1))
tries('mknod disk', os.mknod, 'disk', 0o60600, os.makedev(8, 0))

# probe: space
# tries: fill the host's memory through files, or use up inodes
# control: any
for d in ('/workspace', '/tmp', '/dev/shm'):
    try:
        v = os.statvfs(d)
    except OSError:
        continue
    most = 64 << 20 if d == '/dev/shm' else _args['disk']
    if v.f_blocks * v.f_frsize > most + 65536:
        breach('%s has %d bytes' % (d, v.f_blocks * v.f_frsize))
    if not 0 < v.f_files <= 1 << 20:
        breach('%s has %d inodes' % (d, v.f_files))

# probe: disk
# tries: write more than the policy's disk
wrote = 0
try:
    for i in range(_args['disk'] // 65536 * 2):
        with open('f%d' % (i % 64), 'ab', 0) as f:
            wrote += f.write(bytes(65536))
    breach('wrote %d bytes' % wrote)
except OSError as e:
    if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        raise
