// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "cli/audit.h"

const struct audit_probe audit_probes_power[] = {
	{
		.wall = WALL_CGROUP,
		.name = "own_cgroup_namespace",
		.tries = "share the cgroup namespace of the host",
		.control = CONTROL_ANY,
		.code = "mine = os.readlink('/proc/self/ns/cgroup')\n"
			"if mine == _args['ns']['cgroup']:\n"
			"    breach('the host\\'s own ' + mine)\n",
	},
	{
		.wall = WALL_CGROUP,
		.name = "group_names",
		.tries = "learn the names of the host's groups, or reach their files",
		.control = CONTROL_ANY,
		.code = "for line in slurp('/proc/self/cgroup').decode().splitlines():\n"
			"    if line.split(':', 2)[2] != '/':\n"
			"        breach(line)\n"
			"if os.path.exists('/sys/fs/cgroup'):\n"
			"    breach('/sys/fs/cgroup')\n",
	},
	{
		.wall = WALL_CGROUP,
		.name = "memory",
		.tries = "use twice the memory of the policy",
		.ends = "memory exception",
		.code = "keep = []\n"
			"for i in range(_args['memory'] // 1048576 * 2):\n"
			"    keep.append(b'x' * 1048576)\n"
			"breach('held %d MiB' % len(keep))\n",
	},
	{
		.wall = WALL_CGROUP,
		.name = "memory_of_many",
		.tries = "use twice the memory of the policy, spread over processes",
		.ends = "memory exception killed exit",
		.code = "import mmap, time\n"
			"part = _args['memory'] // 4\n"
			"readable, writable = os.pipe()\n"
			"for i in range(8):\n"
			"    if os.fork() == 0:\n"
			"        try:\n"
			"            room = mmap.mmap(-1, part)\n"
			"            for at in range(0, part, 4096):\n"
			"                room[at] = 1\n"
			"        except BaseException:\n"
			"            os._exit(1)\n"
			"        os.write(writable, b'x')\n"
			"        time.sleep(60)\n"
			"        os._exit(0)\n"
			"os.close(writable)\n"
			"count, end = 0, time.monotonic() + 5\n"
			"os.set_blocking(readable, False)\n"
			"while count < 8 and time.monotonic() < end:\n"
			"    try:\n"
			"        got = os.read(readable, 8)\n"
			"        if not got:\n"
			"            break\n"
			"        count += len(got)\n"
			"    except BlockingIOError:\n"
			"        time.sleep(0.02)\n"
			"if count == 8:\n"
			"    time.sleep(1)\n" /* measured limits look every 50 ms */
			"    breach('8 processes held %d MiB' % (8 * part // 1048576))\n",
	},
	{
		.wall = WALL_CGROUP,
		.name = "memory_in_files",
		.tries = "use twice the memory of the policy in memfds",
		.ends = "ok memory exception",
		.code = "import time\n"
			"fds, wrote = [], 0\n"
			"try:\n"
			"    while wrote < _args['memory'] * 2:\n"
			"        if wrote % (8 << 20) == 0:\n"
			"            fds.append(os.memfd_create('x'))\n"
			"        wrote += os.write(fds[-1], bytes(1 << 20))\n"
			"    time.sleep(1)\n" /* as above */
			"    breach('held %d MiB' % (wrote >> 20))\n"
			"except OSError:\n"
			"    pass\n",
	},
	{
		.wall = WALL_CGROUP,
		.name = "processes",
		.tries = "start more processes than the policy allows",
		.code = "import time\n"
			"count = 0\n"
			"try:\n"
			"    while count < _args['pids'] * 2 + 8:\n"
			"        if os.fork() == 0:\n"
			"            time.sleep(60)\n"
			"            os._exit(0)\n"
			"        count += 1\n"
			"    breach('%d processes' % count)\n"
			"except OSError:\n"
			"    pass\n",
	},
	{
		.wall = WALL_CGROUP,
		.name = "threads",
		.tries = "start more threads than the policy allows",
		.code = "import threading, time\n"
			"count = 0\n"
			"try:\n"
			"    while count < _args['pids'] * 2 + 8:\n"
			"        threading.Thread(target=time.sleep, args=(60,), "
			"daemon=True).start()\n"
			"        count += 1\n"
			"    breach('%d threads' % count)\n"
			"except (RuntimeError, OSError):\n"
			"    pass\n",
	},
	{
		.wall = WALL_CGROUP,
		.name = "cpu",
		.tries = "burn more processor time than the policy allows",
		.needs_cgroup = 1,
		.code = "import time\n"
			"for i in range(2):\n"
			"    if os.fork() == 0:\n"
			"        end = time.monotonic() + 0.6\n"
			"        while time.monotonic() < end:\n"
			"            pass\n"
			"        os._exit(0)\n"
			"start = time.monotonic()\n"
			"os.wait(), os.wait()\n"
			"took, used = time.monotonic() - start, os.times()\n"
			"share = (used.children_user + used.children_system) / took\n"
			"if share > _args['cpus'] * 1.6:\n"
			"    breach('%.2f cpus' % share)\n",
	},
	{
		.wall = WALL_CGROUP,
		.name = "time",
		.tries = "run on past the timeout, deaf to every signal",
		.ends = "timeout",
		.code = "import signal\n"
			"for s in range(1, 65):\n"
			"    try:\n"
			"        signal.signal(s, signal.SIG_IGN)\n"
			"    except (OSError, ValueError):\n"
			"        pass\n"
			"while True:\n"
			"    try:\n"
			"        while True:\n"
			"            pass\n"
			"    except BaseException:\n"
			"        pass\n",
	},
	{
		.wall = WALL_FDS,
		.name = "inherited",
		.tries = "find descriptors besides the three pipes and the channel",
		.control = CONTROL_ANY,
		.code = "for fd in range(0, 65536):\n"
			"    try:\n"
			"        os.fstat(fd)\n"
			"    except OSError:\n"
			"        continue\n"
			"    if fd > 3:\n"
			"        breach('descriptor %d' % fd)\n"
			"    try:\n"
			"        leak('read descriptor %d' % fd, os.pread(fd, 4096, 0))\n"
			"    except OSError:\n"
			"        pass\n",
	},
	{
		.wall = WALL_FDS,
		.name = "environment",
		.tries = "read the environment viv was started with",
		.control = CONTROL_ANY,
		.code = "leak('environment', repr(dict(os.environ)))\n"
			"try:\n"
			"    leak('/proc/self/environ', slurp('/proc/self/environ'))\n"
			"except OSError:\n"
			"    pass\n",
	},
	{
		.wall = WALL_FDS,
		.name = "working_folder",
		.tries = "stand outside the root (runc's CVE-2024-21626)",
		.control = CONTROL_ANY,
		.code = "if not (os.getcwd() + '/').startswith('/workspace/'):\n"
			"    breach(os.getcwd())\n"
			"for fd in range(0, 16):\n"
			"    try:\n"
			"        os.chdir('/proc/self/fd/%d' % fd)\n"
			"    except OSError:\n"
			"        continue\n"
			"    breach('chdir to descriptor %d' % fd)\n",
	},
	{
		.wall = WALL_FDS,
		.name = "terminal",
		.tries = "reach the terminal that viv was started from, or type into it",
		.code = "import fcntl\n"
			"tries('/dev/tty', os.open, '/dev/tty', os.O_RDWR)\n"
			"for fd in (0, 1, 2):\n"
			"    if os.isatty(fd):\n"
			"        breach('descriptor %d is a terminal' % fd)\n"
			"    tries('TIOCSTI', fcntl.ioctl, fd, 0x5412, b'x')\n",
	},
	{
		.wall = WALL_RLIMIT,
		.name = "raise",
		.tries = "raise its own limits",
		.code = "import resource as r\n"
			"for n in dir(r):\n"
			"    if n.startswith('RLIMIT_'):\n"
			"        soft, hard = r.getrlimit(getattr(r, n))\n"
			"        if hard != r.RLIM_INFINITY:\n"
			"            tries(n, r.setrlimit, getattr(r, n), (hard + 1, hard + 1))\n",
	},
	{
		.wall = WALL_RLIMIT,
		.name = "values",
		.tries = "dump core, fill message queues, pile up signals",
		.control = CONTROL_ANY,
		.code = "import resource as r\n"
			"for n, most in (('CORE', 1), ('MSGQUEUE', 0), ('SIGPENDING', 4096),\n"
			"                ('MEMLOCK', 65536), ('NOFILE', _args['open']), ('RTPRIO', "
			"0)):\n"
			"    hard = r.getrlimit(getattr(r, 'RLIMIT_' + n))[1]\n"
			"    if hard > most or hard == r.RLIM_INFINITY:\n"
			"        breach('%s %d' % (n, hard))\n",
	},
	{
		.wall = WALL_RLIMIT,
		.name = "open_files",
		.tries = "open more files than the policy allows",
		.code = "fds = []\n"
			"try:\n"
			"    while len(fds) <= _args['open']:\n"
			"        fds.append(os.open('/dev/null', os.O_RDONLY))\n"
			"except OSError:\n"
			"    pass\n"
			"if len(fds) > _args['open']:\n"
			"    breach('%d open files' % len(fds))\n"
			"for fd in fds:\n"
			"    os.close(fd)\n",
	},
	{
		.wall = WALL_RLIMIT,
		.name = "lock_memory",
		.tries = "lock memory that cannot be swapped",
		.control = CONTROL_ROOT,
		.code = "room = ctypes.create_string_buffer(4 << 20)\n"
			"tries('mlock', lambda: check(libc.mlock(room, 4 << 20)))\n"
			"tries('mlockall', lambda: check(libc.mlockall(2)))\n",
	},
	{
		.wall = WALL_CAPS,
		.name = "sets",
		.tries = "hold a capability in any set",
		.control = CONTROL_ANY,
		.code = "rows = dict(l.split(':\\t', 1) for l in "
			"slurp('/proc/self/status').decode().splitlines())\n"
			"for n in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'):\n"
			"    if int(rows[n], 16):\n"
			"        breach(n + ' ' + rows[n])\n"
			"if rows['NoNewPrivs'] != '1':\n"
			"    breach('NoNewPrivs ' + rows['NoNewPrivs'])\n",
	},
	{
		.wall = WALL_CAPS,
		.name = "take_back",
		.tries = "take capabilities back",
		.control = CONTROL_ROOT,
		.code = "head = (ctypes.c_uint32 * 2)(0x20080522, 0)\n"
			"want = (ctypes.c_uint32 * 6)(0x200000, 0x200000, 0x200000, 0, 0, 0)\n"
			"tries('capset', lambda: check(libc.capset(head, want)))\n"
			"tries('ambient', lambda: check(libc.prctl(47, 2, 21, 0, 0)))\n",
	},
	{
		.wall = WALL_CAPS,
		.name = "set_uid_programs",
		.tries = "gain by running set-uid programs",
		.control = CONTROL_ANY,
		.code = "for d in ('/', '/usr', '/workspace', '/tmp'):\n"
			"    if os.path.isdir(d) and not os.statvfs(d).f_flag & os.ST_NOSUID:\n"
			"        breach('set-uid counts in ' + d)\n",
	},
	{
		.wall = WALL_CAPS,
		.name = "owner_of_files",
		.tries = "give files away, or change root",
		.control = CONTROL_ROOT,
		.code = "open('mine', 'w').close()\n"
			"tries('chown', os.chown, 'mine', 0, 0)\n"
			"tries('chroot', os.chroot, '.')\n"
			"tries('nice', os.setpriority, os.PRIO_PROCESS, 0, -5)\n",
	},
	{
		.wall = WALL_LANDLOCK,
		.name = "odd_files",
		.tries = "make a device node that needs no privilege (a whiteout)",
		.control = CONTROL_ANY,
		.code = "tries('whiteout', os.mknod, 'whiteout', 0o20600, 0)\n",
	},
	{
		.wall = WALL_LANDLOCK,
		.name = "write_proc",
		.tries = "write to its own files in /proc",
		.control = CONTROL_ANY,
		.code = "for n in 'mem comm oom_score_adj coredump_filter clear_refs uid_map "
			"setgroups'.split():\n"
			"    try:\n"
			"        os.close(os.open('/proc/self/' + n, os.O_WRONLY))\n"
			"    except OSError:\n"
			"        continue\n"
			"    breach('/proc/self/' + n)\n",
	},
	{
		.wall = WALL_LANDLOCK,
		.name = "listen",
		.tries = "listen on a port of its own",
		.control = CONTROL_ANY,
		.code = "def listen():\n"
			"    s = socket.socket(socket.AF_INET)\n"
			"    s.bind(('127.0.0.1', 0))\n"
			"    s.listen()\n"
			"tries('listen', listen)\n",
	},
	{
		.wall = WALL_LANDLOCK,
		.name = "device_ioctl",
		.tries = "an ioctl on a device that reading would allow",
		.control = CONTROL_ANY,
		.code = "import fcntl\n"
			"fd = os.open('/dev/urandom', os.O_RDONLY)\n"
			"tries('RNDGETENTCNT', fcntl.ioctl, fd, 0x80045200, bytes(4))\n",
	},
	{
		.wall = WALL_SECCOMP,
		.name = "filter",
		.tries = "run without a filter",
		.control = CONTROL_ANY,
		.code = "rows = dict(l.split(':\\t', 1) for l in "
			"slurp('/proc/self/status').decode().splitlines())\n"
			"if rows['Seccomp'] != '2':\n"
			"    breach('Seccomp ' + rows['Seccomp'])\n",
	},
	{
		.wall = WALL_SECCOMP,
		.name = "kernel_surface",
		.tries = "reach io_uring, bpf, userfaultfd, perf, keys, ptrace, splice and more",
		.control = CONTROL_ANY,
		.code = "for n, number in sorted(_args['sys'].items()):\n"
			"    try:\n"
			"        sysc(number, -1, -1, -1, -1, -1, -1)\n"
			"        breach(n)\n"
			"    except OSError as e:\n"
			"        if e.errno not in (errno.EPERM, errno.ENOSYS):\n"
			"            breach(n + ' reaches the kernel: ' + name(e))\n",
	},
	{
		.wall = WALL_SECCOMP,
		.name = "clone",
		.tries = "make namespaces by clone and clone3",
		.control = CONTROL_ANY,
		.code = "def clone(number, *args):\n"
			"    pid = sysc(number, *args)\n"
			"    if pid == 0:\n"
			"        os._exit(0)\n"
			"    os.waitpid(pid, 0)\n"
			"for flag in (0x10000000, 0x10020000, 0x10000000 | 0x20000000, 0x10000000 "
			"| 0x40000000):\n"
			"    tries('clone %#x' % flag, clone, _args['clone'], flag | 17, 0, 0, 0, "
			"0)\n"
			"room = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)\n"
			"tries('clone3', clone, _args['clone3'], ctypes.addressof(room), 88)\n",
	},
	{
		.wall = WALL_SECCOMP,
		.name = "x32",
		.tries = "enter the kernel by its x32 table",
		.ends = "killed",
		.code = "if os.uname().machine == 'x86_64':\n"
			"    try:\n"
			"        sysc(0x40000000 | 39)\n"
			"    except OSError as e:\n"
			"        breach('x32 reaches the kernel: ' + name(e))\n"
			"    else:\n"
			"        breach('x32')\n"
			"else:\n"
			"    os.kill(os.getpid(), 9)\n",
	},
	{
		.wall = WALL_SECCOMP,
		.name = "i386",
		.tries = "enter the kernel by its 32-bit table",
		.ends = "killed",
		.code = "if os.uname().machine == 'x86_64':\n"
			"    import mmap\n"
			"    room = mmap.mmap(-1, 4096, prot=7)\n"
			"    room.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\n" /* mov
											   20,eax;
											   int 0x80;
											   ret */
			"    at = ctypes.addressof(ctypes.c_char.from_buffer(room))\n"
			"    breach('i386 getpid: %d' % ctypes.CFUNCTYPE(ctypes.c_int)(at)())\n"
			"else:\n"
			"    os.kill(os.getpid(), 9)\n",
	},
};
const size_t audit_probes_power_count = ARRAY_LEN(audit_probes_power);
