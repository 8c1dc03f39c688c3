// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "cli/audit.h"

/* Every probe needs the same few words; they import only the standard library. */
const char audit_prelude[] =
	"import ctypes, errno, os, socket, sys\n"
	"libc = ctypes.CDLL(None, use_errno=True)\n"
	"_said = []\n"
	"def breach(what):\n"
	"    _said.append(what)\n"
	"    print('BREACH:', ascii(what), flush=True)\n"
	"def name(e):\n"
	"    return errno.errorcode.get(getattr(e, 'errno', None), type(e).__name__)\n"
	"def tries(what, call, *args):\n"
	"    try:\n"
	"        got = call(*args)\n"
	"    except (OSError, ValueError, EOFError, ImportError) as e:\n"
	"        return name(e)\n"
	"    breach(what)\n"
	"    return got\n"
	"def leak(what, seen):\n"
	"    seen = seen if isinstance(seen, bytes) else str(seen).encode('utf-8', 'replace')\n"
	"    if _args['token'].encode() in seen:\n"
	"        breach(what)\n"
	"def check(r):\n"
	"    if r < 0:\n"
	"        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n"
	"    return r\n"
	"def sysc(number, *args):\n"
	"    return check(libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args]))\n"
	"def slurp(path):\n"
	"    with open(path, 'rb') as f:\n"
	"        return f.read(65536)\n";

const char audit_coda[] = "\nif not _said:\n"
			  "    print('held: nothing got through', flush=True)\n";

/* One row per namespace: its inode, seen from inside, must not be the one of the host. */
#define OWN_NAMESPACE(id, ns)                                                                      \
	{                                                                                          \
		.wall = (id), .name = "own_" ns "_namespace", .control = CONTROL_ANY,              \
		.tries = "share the " ns " namespace of the host",                                 \
		.code = "mine = os.readlink('/proc/self/ns/" ns "')\n"                             \
			"if mine == _args['ns']['" ns "']:\n"                                      \
			"    breach('the host\\'s own ' + mine)\n",                                \
	}

const struct audit_probe audit_probes_space[] = {
	OWN_NAMESPACE(WALL_USER, "user"),
	{
		.wall = WALL_USER,
		.name = "id_map",
		.tries = "hold more than one id, or id 0",
		.control = CONTROL_ANY,
		.code = "for kind in ('uid_map', 'gid_map'):\n"
			"    rows = slurp('/proc/self/' + kind).decode().split()\n"
			"    if len(rows) != 3 or rows[2] != '1' or rows[0] == '0':\n"
			"        breach(kind + ' ' + ' '.join(rows))\n"
			"if 0 in os.getresuid() + os.getresgid() or 0 in os.getgroups():\n"
			"    breach('id 0')\n",
	},
	{
		.wall = WALL_USER,
		.name = "become_root",
		.tries = "setuid, setgid, setgroups to 0",
		.control = CONTROL_ROOT,
		.code = "tries('setgroups', os.setgroups, [0])\n"
			"tries('setresgid', os.setresgid, 0, 0, 0)\n"
			"tries('setgid', os.setgid, 0)\n"
			"tries('setresuid', os.setresuid, 0, 0, 0)\n"
			"tries('setuid', os.setuid, 0)\n",
	},
	{
		.wall = WALL_USER,
		.name = "nested_namespaces",
		.tries = "make a user namespace of its own to be root in",
		.control = CONTROL_ANY,
		.code = "tries('unshare user', lambda: check(libc.unshare(0x10000000)))\n"
			"tries('unshare user+mount', lambda: check(libc.unshare(0x10020000)))\n",
	},
	OWN_NAMESPACE(WALL_MOUNT, "mnt"),
	{
		.wall = WALL_MOUNT,
		.name = "planted_file",
		.tries = "read a file of the host by its path",
		.control = CONTROL_ANY,
		.code = "for path in _args['files']:\n"
			"    try:\n"
			"        leak('read ' + path, slurp(path))\n"
			"    except OSError:\n"
			"        pass\n",
	},
	{
		.wall = WALL_MOUNT,
		.name = "host_folders",
		.tries = "find /home, /root, /var, /run, /sys, /boot and secrets in /etc",
		.control = CONTROL_ANY,
		.code = "for path in '/home /root /var /run /sys /boot /srv /mnt /media "
			"/lost+found'.split():\n"
			"    try:\n"
			"        for name in os.listdir(path):\n"
			"            name = path + '/' + name\n"
			"            if (name, os.path.realpath(name)) != ('/mnt/data', "
			"'/workspace'):\n"
			"                breach(name + ' is there')\n"
			"    except OSError:\n"
			"        pass\n"
			"for path in '/etc/shadow /etc/gshadow /etc/sudoers /etc/machine-id "
			"/etc/ssh'.split():\n"
			"    if os.path.lexists(path):\n"
			"        breach(path)\n",
	},
	{
		.wall = WALL_MOUNT,
		.name = "proc_files",
		.tries = "reach the kernel's files in /proc",
		.control = CONTROL_ANY,
		.code = "for n in 'sys sysrq-trigger kcore kallsyms keys kmsg timer_list "
			"interrupts'.split():\n"
			"    if os.path.exists('/proc/' + n):\n"
			"        breach('/proc/' + n)\n",
	},
	{
		.wall = WALL_MOUNT,
		.name = "write_root",
		.tries = "write outside /workspace, /tmp and /dev/shm",
		.code = "tops = ['/'] + ['/' + n for n in os.listdir('/') if n not in "
			"('workspace', 'tmp')]\n"
			"for d in tops + ['/usr/bin', '/usr/lib/python3', '/viv', '/dev', "
			"'/proc']:\n"
			"    tries('created a file in ' + d, os.open, d + '/.viv-audit', "
			"os.O_CREAT | os.O_WRONLY)\n"
			"    tries('made a folder in ' + d, os.mkdir, d + '/.viv-audit.d')\n"
			"open('mine', 'w').close()\n"
			"tries('link into /usr', os.link, 'mine', '/usr/.viv-audit')\n"
			"tries('truncate /usr/bin/env', os.truncate, '/usr/bin/env', 0)\n"
			"tries('chmod /usr/bin/env', os.chmod, '/usr/bin/env', 0o777)\n"
			"tries('unlink /usr/bin/env', os.unlink, '/usr/bin/env')\n",
	},
	{
		.wall = WALL_MOUNT,
		.name = "old_root",
		.tries = "climb back to the host's root",
		.control = CONTROL_ROOT,
		.code = "ways = ['/proc/1/root', '/proc/1/cwd', '/proc/self/root/' + '../' * 64, "
			"'../' * 64]\n"
			"ways += ['/proc/%d/root' % p for p in range(2, 9)]\n"
			"for way in ways:\n"
			"    for path in _args['files']:\n"
			"        try:\n"
			"            leak(way, slurp(way + path))\n"
			"        except OSError:\n"
			"            pass\n"
			"tries('chroot', os.chroot, '/proc/1/root')\n",
	},
	{
		.wall = WALL_MOUNT,
		.name = "mount_calls",
		.tries = "mount, unmount and remount, by the old calls and the new",
		.code = "m = lambda *a: check(libc.mount(*a))\n"
			"tries('mount tmpfs', m, b'x', b'/workspace', b'tmpfs', 0, None)\n"
			"tries('mount proc', m, b'x', b'/workspace', b'proc', 0, None)\n"
			"tries('bind', m, b'/usr', b'/workspace', None, 4096, None)\n"
			"tries('remount rw', m, None, b'/usr', None, 32 | 4096, None)\n"
			"tries('umount', lambda: check(libc.umount2(b'/usr', 2)))\n"
			"for n in ('open_tree', 'fsopen', 'move_mount', 'mount_setattr', "
			"'pivot_root', 'fspick'):\n"
			"    try:\n"
			"        sysc(_args['sys'][n], -1, -1, -1, -1, -1)\n"
			"        breach(n)\n"
			"    except OSError as e:\n"
			"        if e.errno not in (errno.EPERM, errno.ENOSYS):\n"
			"            breach(n + ' reaches the kernel: ' + name(e))\n",
	},
	{
		.wall = WALL_MOUNT,
		.name = "devices",
		.tries = "find or make device nodes",
		.control = CONTROL_ANY,
		.code = "fine = set('null zero full random urandom shm fd stdin stdout "
			"stderr'.split())\n"
			"for n in os.listdir('/dev'):\n"
			"    if n not in fine:\n"
			"        breach('/dev/' + n)\n"
			"tries('mknod mem', os.mknod, 'mem', 0o20600, os.makedev(1, 1))\n"
			"tries('mknod disk', os.mknod, 'disk', 0o60600, os.makedev(8, 0))\n",
	},
	{
		.wall = WALL_MOUNT,
		.name = "space",
		.tries = "fill the host's memory through files, or use up inodes",
		.control = CONTROL_ANY,
		.code = "for d in ('/workspace', '/tmp', '/dev/shm'):\n"
			"    try:\n"
			"        v = os.statvfs(d)\n"
			"    except OSError:\n"
			"        continue\n"
			"    most = 64 << 20 if d == '/dev/shm' else _args['disk']\n"
			"    if v.f_blocks * v.f_frsize > most + 65536:\n"
			"        breach('%s has %d bytes' % (d, v.f_blocks * v.f_frsize))\n"
			"    if not 0 < v.f_files <= 1 << 20:\n"
			"        breach('%s has %d inodes' % (d, v.f_files))\n",
	},
	{
		.wall = WALL_MOUNT,
		.name = "disk",
		.tries = "write more than the policy's disk",
		.code = "wrote = 0\n"
			"try:\n"
			"    for i in range(_args['disk'] // 65536 * 2):\n"
			"        with open('f%d' % (i % 64), 'ab', 0) as f:\n"
			"            wrote += f.write(bytes(65536))\n"
			"    breach('wrote %d bytes' % wrote)\n"
			"except OSError as e:\n"
			"    if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):\n"
			"        raise\n",
	},
	OWN_NAMESPACE(WALL_PID, "pid"),
	{
		.wall = WALL_PID,
		.name = "see_processes",
		.tries = "see or signal a process of the host",
		.control = CONTROL_ANY,
		.code = "pid = _args['pid']\n"
			"if pid > 64:\n"
			"    tries('signal', os.kill, pid, 0)\n"
			"    tries('priority', os.getpriority, os.PRIO_PROCESS, pid)\n"
			"    tries('affinity', os.sched_getaffinity, pid)\n"
			"    tries('pidfd', os.pidfd_open, pid)\n"
			"pids = [n for n in os.listdir('/proc') if n.isdigit()]\n"
			"if len(pids) > 8:\n"
			"    breach('%d processes in /proc' % len(pids))\n",
	},
	{
		.wall = WALL_PID,
		.name = "read_init",
		.tries = "read memory, environment or descriptors of pid 1",
		.control = CONTROL_ROOT,
		.code = "for n in ('mem', 'environ', 'maps'):\n"
			"    tries('/proc/1/' + n, slurp if n != 'mem' else open, '/proc/1/' + n)\n"
			"tries('/proc/1/fd', os.listdir, '/proc/1/fd')\n"
			"tries('/proc/1/exe', os.readlink, '/proc/1/exe')\n",
	},
	{
		.wall = WALL_PID,
		.name = "kill_everything",
		.tries = "kill(-1) and kill pid 1",
		.code = "tries('kill(-1)', os.kill, -1, 0)\n"
			"try:\n"
			"    os.kill(1, 9)\n"
			"except OSError:\n"
			"    pass\n",
	},
	{
		.wall = WALL_PID,
		.name = "stay_behind",
		.tries = "leave a daemon running after the run",
		.code = "if os.fork() == 0:\n"
			"    os.setsid()\n"
			"    if os.fork() == 0:\n"
			"        libc.prctl(15, _args['marker'].encode(), 0, 0, 0)\n"
			"        import signal, time\n"
			"        for s in range(1, 32):\n"
			"            try:\n"
			"                signal.signal(s, signal.SIG_IGN)\n"
			"            except OSError:\n"
			"                pass\n"
			"        while True:\n"
			"            time.sleep(1000)\n"
			"    os._exit(0)\n"
			"os.wait()\n",
	},
	OWN_NAMESPACE(WALL_NET, "net"),
	{
		.wall = WALL_NET,
		.name = "tcp",
		.tries = "connect to a listener on the host's loopback",
		.control = CONTROL_ANY,
		.code = "tries('tcp', socket.create_connection, ('127.0.0.1', _args['tcp']), 2)\n"
			"tries('tcp6', socket.create_connection, ('::ffff:127.0.0.1', "
			"_args['tcp']), 2)\n",
	},
	{
		.wall = WALL_NET,
		.name = "udp",
		.tries = "send a datagram to the host's loopback",
		.control = CONTROL_ANY,
		.code = "def send():\n"
			"    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
			"    s.sendto(b'x', ('127.0.0.1', _args['udp']))\n"
			"tries('udp', send)\n",
	},
	{
		.wall = WALL_NET,
		.name = "abstract_socket",
		.tries = "connect to an abstract unix socket of the host",
		.control = CONTROL_ANY,
		.code = "s = socket.socket(socket.AF_UNIX)\n"
			"s.settimeout(2)\n"
			"tries('abstract', s.connect, '\\0' + _args['abstract'])\n",
	},
	{
		.wall = WALL_NET,
		.name = "unix_socket",
		.tries = "connect to a unix socket of the host by its path",
		.control = CONTROL_ANY,
		.code = "s = socket.socket(socket.AF_UNIX)\n"
			"s.settimeout(2)\n"
			"tries('unix', s.connect, _args['unix'])\n",
	},
	{
		.wall = WALL_NET,
		.name = "families",
		.tries = "open raw, packet, netlink, vsock, alg and other sockets",
		.control = CONTROL_ANY,
		.code = "for family, kind in ((2, 3), (10, 3), (17, 3), (16, 3), (40, 1), (38, 5), "
			"(31, 3),\n"
			"                     (29, 3), (30, 1), (44, 3), (33, 2), (15, 3), (2, 1), "
			"(10, 1)):\n"
			"    tries('socket(%d, %d)' % (family, kind), socket.socket, family, "
			"kind)\n",
	},
	{
		.wall = WALL_NET,
		.name = "interfaces",
		.tries = "see the host's network interfaces",
		.code = "try:\n"
			"    lines = slurp('/proc/self/net/dev').decode().splitlines()[2:]\n"
			"    names = {line.split(':')[0].strip() for line in lines}\n"
			"except OSError:\n"
			"    names = set()\n"
			"if names - {'lo'}:\n"
			"    breach(' '.join(sorted(names)))\n",
	},
	OWN_NAMESPACE(WALL_IPC, "ipc"),
	{
		.wall = WALL_IPC,
		.name = "shared_memory",
		.tries = "attach a System V segment of the host",
		.control = CONTROL_ANY,
		.code = "tries('shmget', lambda: check(libc.shmget(ctypes.c_int(_args['shm']), 0, "
			"0)))\n",
	},
	{
		.wall = WALL_IPC,
		.name = "message_queue",
		.tries = "open a POSIX message queue of the host",
		.control = CONTROL_ANY,
		.code = "tries('mq_open', lambda: check(libc.mq_open(_args['queue'].encode(), "
			"0)))\n"
			"if os.path.exists('/dev/mqueue'):\n"
			"    breach('/dev/mqueue')\n",
	},
	{
		.wall = WALL_IPC,
		.name = "dev_shm",
		.tries = "read what the host has in /dev/shm",
		.control = CONTROL_ANY,
		.code = "for n in os.listdir('/dev/shm'):\n"
			"    breach('/dev/shm/' + n)\n",
	},
	OWN_NAMESPACE(WALL_UTS, "uts"),
	{
		.wall = WALL_UTS,
		.name = "host_name",
		.tries = "learn the host's name",
		.control = CONTROL_ANY,
		.code = "if os.uname().nodename == _args['host'] and _args['host'] not in "
			"_args['dull']:\n"
			"    breach(os.uname().nodename)\n",
	},
	{
		.wall = WALL_UTS,
		.name = "set_host_name",
		.tries = "rename the host",
		.code = "tries('sethostname', lambda: check(libc.sethostname(b'breached', 8)))\n"
			"tries('setdomainname', lambda: check(libc.setdomainname(b'breached', "
			"8)))\n",
	},
};
const size_t audit_probes_space_count = ARRAY_LEN(audit_probes_space);
