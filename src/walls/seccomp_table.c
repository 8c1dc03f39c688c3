// SPDX-License-Identifier: Apache-2.0
#include "walls/seccomp_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/c.h"
#include "policy/plan.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define EVERY_BIT 0xffffffffU
#define IS(arg, value)                                                                             \
	{                                                                                          \
		(arg), EVERY_BIT, (uint32_t)(value)                                                \
	}
#define HAS_NONE_OF(arg, bits)                                                                     \
	{                                                                                          \
		(arg), (bits), 0                                                                   \
	}
#define CASE(...)                                                                                  \
	{                                                                                          \
		.tests = { __VA_ARGS__ }                                                           \
	}

/* A case that does not hold where this much of the host's files is shown. */
#define CASE_UNTIL(shown, ...)                                                                     \
	{                                                                                          \
		.tests = {__VA_ARGS__}, .gone_from = (shown)                                       \
	}

/* CLONE_PARENT would make the child a child of launch, which neither knows it nor waits for it. */
#define CLONE_REFUSED                                                                              \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME | CLONE_PARENT)

/* Only threads of one process may share a table of descriptors: /proc/locks names the process that
 * took a lock, and the lock must not outlive it. */
static const struct call_case clone_cases[] = {
	CASE(HAS_NONE_OF(0, CLONE_REFUSED | CLONE_FILES)),
	CASE({0, CLONE_REFUSED | CLONE_THREAD, CLONE_THREAD}),
};

static const struct call_case unix_only[] = {
	CASE(IS(0, AF_UNIX)),
};

#define SOCK_TYPE_MASK 0xf
/* A datagram socket of a pair can be connected again, and sends to any path; a stream socket cannot
 * (SOCK_RAW means datagram here). */
static const struct call_case unix_pairs[] = {
	CASE_UNTIL(SHOWN_APART, IS(0, AF_UNIX)),
	CASE(IS(0, AF_UNIX), {1, SOCK_TYPE_MASK, SOCK_STREAM}),
	CASE(IS(0, AF_UNIX), {1, SOCK_TYPE_MASK, SOCK_SEQPACKET}),
};

/* Requests that a stream or a file answers. No terminal is ever inside, so no terminal requests. */
static const struct call_case ioctl_requests[] = {
	CASE(IS(1, TCGETS)),  CASE(IS(1, TIOCGWINSZ)), CASE(IS(1, FIONREAD)),
	CASE(IS(1, FIONBIO)), CASE(IS(1, FIOCLEX)),    CASE(IS(1, FIONCLEX)),
};

/* Without leases, F_NOTIFY, signals on I/O and F_SETPIPE_SZ (pipe pages are counted per user); nor
 * locks of an open file (F_OFD_SETLK): /proc/locks does not name their owner, so they could not be
 * counted. Locks of a process are refused where the files are the host's own. */
static const struct call_case fcntl_commands[] = {
	CASE(IS(1, F_DUPFD)),
	CASE(IS(1, F_DUPFD_CLOEXEC)),
	CASE(IS(1, F_GETFD)),
	CASE(IS(1, F_SETFD)),
	CASE(IS(1, F_GETFL)),
	CASE(IS(1, F_SETFL), HAS_NONE_OF(2, O_DIRECT)),
	CASE(IS(1, F_GETLK)),
	CASE_UNTIL(SHOWN_DIRECT, IS(1, F_SETLK)),
	CASE_UNTIL(SHOWN_DIRECT, IS(1, F_SETLKW)),
	CASE(IS(1, F_GETPIPE_SZ)),
	CASE(IS(1, F_ADD_SEALS)),
	CASE(IS(1, F_GET_SEALS)),
};

/* Names, queries, and closing a process's own memory to others, as a session's checkpoint does.
 * Options that change a wall, the memory map or tracing are not here. */
static const struct call_case prctl_options[] = {
	CASE(IS(0, PR_SET_NAME)),
	CASE(IS(0, PR_GET_NAME)),
	CASE(IS(0, PR_SET_PDEATHSIG)),
	CASE(IS(0, PR_GET_PDEATHSIG)),
	CASE(IS(0, PR_SET_NO_NEW_PRIVS)),
	CASE(IS(0, PR_GET_NO_NEW_PRIVS)),
	CASE(IS(0, PR_GET_DUMPABLE)),
	CASE(IS(0, PR_GET_SECCOMP)),
	CASE(IS(0, PR_CAPBSET_READ)),
	CASE(IS(0, PR_SET_VMA)),
	CASE(IS(0, PR_SET_DUMPABLE), IS(1, 0)),
};

static const struct call_case personalities[] = {
	CASE(IS(0, 0)),
	CASE(IS(0, 0xffffffffU)),
};

/* Facts about the socket itself, not its peer: SO_PEERPIDFD of the channel would be viv's. */
static const struct call_case socket_questions[] = {
	CASE(IS(1, SOL_SOCKET), IS(2, SO_TYPE)),       CASE(IS(1, SOL_SOCKET), IS(2, SO_ERROR)),
	CASE(IS(1, SOL_SOCKET), IS(2, SO_DOMAIN)),     CASE(IS(1, SOL_SOCKET), IS(2, SO_PROTOCOL)),
	CASE(IS(1, SOL_SOCKET), IS(2, SO_ACCEPTCONN)), CASE(IS(1, SOL_SOCKET), IS(2, SO_LINGER)),
	CASE(IS(1, SOL_SOCKET), IS(2, SO_SNDBUF)),     CASE(IS(1, SOL_SOCKET), IS(2, SO_RCVBUF)),
	CASE(IS(1, SOL_SOCKET), IS(2, SO_SNDTIMEO)),   CASE(IS(1, SOL_SOCKET), IS(2, SO_RCVTIMEO)),
	CASE(IS(1, SOL_SOCKET), IS(2, SO_REUSEADDR)),  CASE(IS(1, SOL_SOCKET), IS(2, SO_KEEPALIVE)),
};

/* Without SO_ATTACH_FILTER and the like, which load a program into the kernel, and without buffer
 * sizes, which are kernel memory. */
static const struct call_case socket_options[] = {
	CASE(IS(1, SOL_SOCKET), IS(2, SO_REUSEADDR)), CASE(IS(1, SOL_SOCKET), IS(2, SO_KEEPALIVE)),
	CASE(IS(1, SOL_SOCKET), IS(2, SO_LINGER)),    CASE(IS(1, SOL_SOCKET), IS(2, SO_PASSCRED)),
	CASE(IS(1, SOL_SOCKET), IS(2, SO_SNDTIMEO)),  CASE(IS(1, SOL_SOCKET), IS(2, SO_RCVTIMEO)),
	CASE(IS(1, SOL_SOCKET), IS(2, SO_RCVLOWAT)),
};

static const struct call_case open_cached[] = {CASE(HAS_NONE_OF(1, O_DIRECT))};
static const struct call_case openat_cached[] = {CASE(HAS_NONE_OF(2, O_DIRECT))};
static const struct call_case oneself[] = {CASE(IS(0, 0))};
static const struct call_case everyone[] = {CASE(IS(0, -1))};
static const struct call_case mknod_fifo[] = {CASE({1, S_IFMT, S_IFIFO})};
static const struct call_case mknodat_fifo[] = {CASE({2, S_IFMT, S_IFIFO})};
static const struct call_case mmap_small_pages[] = {CASE(HAS_NONE_OF(3, MAP_HUGETLB))};
static const struct call_case merging[] = {CASE(IS(2, MADV_MERGEABLE))};
static const struct call_case eviction[] = {CASE(IS(3, POSIX_FADV_DONTNEED))};
static const struct call_case message_in_band[] = {CASE(HAS_NONE_OF(2, MSG_OOB))};
static const struct call_case packet_in_band[] = {CASE(HAS_NONE_OF(3, MSG_OOB))};

#define ALLOW(name_, reason_)                                                                      \
	{                                                                                          \
		.name = (name_), .rule = CALL_ALLOW, .reason = (reason_)                           \
	}
#define REFUSE(name_, refusal_, reason_)                                                           \
	{                                                                                          \
		.name = (name_), .rule = CALL_REFUSE, .refusal = (refusal_), .reason = (reason_)   \
	}
/* Answers like a kernel older than the call. */
#define ABSENT(name_, reason_) REFUSE(name_, ENOSYS, reason_)
/* Allowed where a cgroup counts the kernel memory that the call takes. */
#define COUNTED(name_, refusal_, reason_)                                                          \
	{                                                                                          \
		.name = (name_), .rule = CALL_COUNTED, .refusal = (refusal_), .reason = (reason_)  \
	}
#define TESTED(name_, rule_, cases_, refusal_, reason_)                                            \
	{                                                                                          \
		.name = (name_), .rule = (rule_), .refusal = (refusal_), .cases = (cases_),        \
		.case_count = ARRAY_LEN(cases_), .reason = (reason_)                               \
	}
#define ALLOW_UNTIL(shown_, name_, refusal_, reason_)                                              \
	{                                                                                          \
		.name = (name_), .rule = CALL_ALLOW, .refusal = (refusal_), .gone_from = (shown_), \
		.reason = (reason_)                                                                \
	}
#define ONLY_UNTIL(shown_, name_, cases_, refusal_, reason_)                                       \
	{                                                                                          \
		.name = (name_), .rule = CALL_ONLY, .refusal = (refusal_), .gone_from = (shown_),  \
		.cases = (cases_), .case_count = ARRAY_LEN(cases_), .reason = (reason_)            \
	}
#define ONLY(name_, cases_, refusal_, reason_) TESTED(name_, CALL_ONLY, cases_, refusal_, reason_)
#define UNLESS(name_, cases_, refusal_, reason_)                                                   \
	TESTED(name_, CALL_UNLESS, cases_, refusal_, reason_)

/*
 * Left out with a thought, so that nobody adds them without one:
 * - splice, tee, vmsplice, sendfile, copy_file_range: hand page-cache pages around; a bug there
 *   writes files that every sandbox shares, read-only mounts or not.
 * - inotify: watches inodes, and those of /usr are shared: it shows what the neighbours open.
 * - sysinfo: load and memory of the host. glibc does not look whether it failed, so that
 *   sysconf(_SC_PHYS_PAGES) is a random number inside. mincore, preadv2: what its page cache holds.
 * - sync, syncfs: write back all of the host's disks. setxattr: kernel memory per file.
 * - io_uring, bpf, userfaultfd, perf, keys, ptrace, process_vm, pidfd_getfd, namespaces, mounts,
 *   System V IPC, message queues, NUMA, further seccomp and landlock: surface no analysis needs.
 */
const struct call_row call_rows[] = {
	/* Descriptors */
	ALLOW("read", "input"),
	ALLOW("write", "output"),
	ALLOW("readv", "input in pieces"),
	ALLOW("writev", "output in pieces"),
	ALLOW("pread64", "sqlite and zip files read at an offset"),
	ALLOW("pwrite64", "sqlite and numpy.memmap write at an offset"),
	ALLOW("preadv", "os.preadv"),
	ALLOW("pwritev", "os.pwritev"),
	ABSENT("preadv2", "RWF_NOWAIT tells what is in the page cache; glibc falls back to preadv"),
	ABSENT("pwritev2", "as preadv2; glibc falls back to pwritev"),
	ALLOW("lseek", "file.seek"),
	ALLOW("close", "file.close"),
	ALLOW("close_range", "subprocess closes what a program must not inherit"),
	ALLOW("dup", "os.dup"),
	ALLOW("dup2", "redirection in shells and subprocess"),
	ALLOW("dup3", "redirection, closed on exec"),
	ALLOW("pipe", "pipes of older programs"),
	ALLOW("pipe2", "pipes to child processes"),
	ONLY("fcntl", fcntl_commands, EPERM, "flags, locks and duplicates of descriptors"),
	ONLY("ioctl", ioctl_requests, ENOTTY, "isatty() on every open; the rest is device surface"),
	ALLOW_UNTIL(SHOWN_DIRECT, "flock", ENOLCK,
		    "locks of caches and databases; not on files of the host, whose own programs "
		    "would wait for it"),
	REFUSE("fsync", 0,
	       "databases; all that can be written is memory, so it is done already: on a "
	       "read-only file of the host the kernel would flush its disk"),
	REFUSE("fdatasync", 0, "as fsync"),
	ALLOW("ftruncate", "file.truncate"),
	ALLOW("fallocate", "tempfiles of numpy and sqlite"),
	UNLESS("fadvise64", eviction, EPERM, "advice by cp and sort; not to evict shared files"),
	ABSENT("sendfile", "splices pages; shutil and sockets fall back to read and write"),
	ABSENT("copy_file_range", "splices pages; cp and shutil fall back to read and write"),
	ABSENT("splice", "as sendfile"),

	/* Paths; which of them is decided by mounts and landlock */
	ONLY("open", open_cached, EINVAL,
	     "files, by older programs; O_DIRECT reads the host's disk"),
	ONLY("openat", openat_cached, EINVAL, "files; not past the page cache, as open"),
	ALLOW("creat", "files, by older programs"),
	ABSENT("openat2", "its flags lie behind a pointer; callers fall back to openat"),
	ALLOW("stat", "os.stat of older programs"),
	ALLOW("fstat", "os.fstat"),
	ALLOW("lstat", "os.lstat of older programs"),
	ALLOW("newfstatat", "os.stat, every import"),
	ALLOW("statx", "stat of newer programs"),
	ALLOW("access", "the dynamic loader, os.access"),
	ALLOW("faccessat", "os.access"),
	ALLOW("faccessat2", "test -r of newer shells"),
	ALLOW("readlink", "os.path.realpath"),
	ALLOW("readlinkat", "realpath of coreutils"),
	ALLOW("getcwd", "os.getcwd"),
	ALLOW("chdir", "os.chdir, subprocess(cwd=)"),
	ALLOW("fchdir", "shutil.rmtree, find"),
	ALLOW("getdents64", "os.listdir, every import"),
	ALLOW("mkdir", "os.mkdir"),
	ALLOW("mkdirat", "tar, zip"),
	ALLOW("rmdir", "os.rmdir"),
	ALLOW("unlink", "os.remove"),
	ALLOW("unlinkat", "shutil.rmtree"),
	ALLOW("rename", "os.replace, atomic saves"),
	ALLOW("renameat", "mv, tar"),
	ALLOW("renameat2", "mv -n"),
	ALLOW("link", "lock files, tempfile"),
	ALLOW("linkat", "ln, O_TMPFILE"),
	ALLOW("symlink", "os.symlink"),
	ALLOW("symlinkat", "ln -s, tar"),
	ALLOW("truncate", "os.truncate"),
	ALLOW("chmod", "os.chmod; set-uid bits mean nothing under no_new_privs"),
	ALLOW("fchmod", "shutil.copymode"),
	ALLOW("fchmodat", "chmod, tar"),
	ALLOW("chown", "shutil.copy of older programs; only one id is mapped"),
	ALLOW("fchown", "matplotlib and sqlite keep a file's owner"),
	ALLOW("lchown", "tar, cp -a"),
	ALLOW("fchownat", "tar, cp -p"),
	ALLOW("utime", "touch of older programs"),
	ALLOW("utimes", "touch of older programs"),
	ALLOW("futimesat", "touch of older programs"),
	ALLOW("utimensat", "shutil.copystat, touch"),
	ALLOW("umask", "os.umask"),
	ALLOW("statfs", "shutil.disk_usage, df"),
	ALLOW("fstatfs", "the dynamic loader, shutil.disk_usage"),
	ONLY("mknod", mknod_fifo, EPERM, "os.mkfifo; never a device"),
	ONLY("mknodat", mknodat_fifo, EPERM, "os.mkfifo; never a device"),
	ALLOW("getxattr", "shutil.copystat, ls"),
	ALLOW("lgetxattr", "ls -l"),
	ALLOW("fgetxattr", "cp -p"),
	ALLOW("listxattr", "shutil.copystat"),
	ALLOW("llistxattr", "ls -l"),
	ALLOW("flistxattr", "cp -p"),
	REFUSE("setxattr", ENOTSUP, "cp -a and shutil take it for a plain file system"),
	REFUSE("lsetxattr", ENOTSUP, "as setxattr"),
	REFUSE("fsetxattr", ENOTSUP, "as setxattr"),
	ABSENT("inotify_init", "as inotify_init1"),
	ABSENT("inotify_init1",
	       "shows what neighbours do with shared inodes; callers poll instead"),

	/* Memory; how much is decided by the cgroup */
	ALLOW("brk", "malloc"),
	ONLY("mmap", mmap_small_pages, ENOMEM, "malloc, libraries; huge pages escape memory.max"),
	ALLOW("munmap", "free"),
	ALLOW("mremap", "realloc of large arrays"),
	ALLOW("mprotect", "the dynamic loader, thread stacks, ffi closures"),
	UNLESS("madvise", merging, EINVAL, "free; merged pages would tell what neighbours hold"),
	REFUSE("msync", 0, "numpy.memmap.flush; as fsync"),
	ALLOW("mlock", "crypto libraries lock keys, up to RLIMIT_MEMLOCK"),
	ALLOW("munlock", "as mlock"),
	ABSENT("memfd_create",
	       "memory no mount counts and, unmapped, no process; /dev/shm is there"),
	ABSENT("get_mempolicy", "NUMA; libnuma takes ENOSYS for a machine without"),
	ABSENT("membarrier", "interrupts other cpus; its users have a slower way"),

	/* Processes and threads; how many is decided by the cgroup */
	ALLOW("fork", "older programs"),
	ALLOW("vfork", "subprocess, shells"),
	ONLY("clone", clone_cases, EPERM, "threads, fork, posix_spawn; no namespaces"),
	ABSENT("clone3", "its flags lie behind a pointer; glibc falls back to clone"),
	ALLOW("execve", "subprocess, shells, a cold interpreter"),
	ALLOW("execveat", "fexecve"),
	ALLOW("exit", "end of a thread"),
	ALLOW("exit_group", "end of a process"),
	ALLOW("wait4", "subprocess, shells"),
	ALLOW("waitid", "asyncio, multiprocessing"),
	ALLOW("set_tid_address", "start of every program"),
	ALLOW("set_robust_list", "start of every thread"),
	ALLOW("rseq", "start of every thread (glibc 2.35)"),
	ALLOW("futex", "locks between threads and processes"),
	ABSENT("futex_waitv", "nothing here needs it; its users fall back to futex"),
	ALLOW("arch_prctl", "thread-local storage of every program on x86"),
	ONLY("prctl", prctl_options, EPERM, "names of threads, parent-death signals, questions"),
	ONLY("personality", personalities, EPERM, "asking, and the default"),
	ONLY("prlimit64", oneself, EPERM, "resource.getrlimit and lowering; only of oneself"),
	ALLOW("getrlimit", "older programs"),
	ALLOW("setrlimit", "ulimit; lowering needs no right, raising has none"),
	ALLOW("getrusage", "resource.getrusage, time"),
	ALLOW("times", "os.times"),
	ALLOW("getpid", "os.getpid"),
	ALLOW("getppid", "os.getppid, multiprocessing"),
	ALLOW("gettid", "threading.get_native_id"),
	ALLOW("getpgrp", "shells"),
	ALLOW("getpgid", "os.getpgid"),
	ALLOW("setpgid", "shells, subprocess(process_group=)"),
	ALLOW("getsid", "os.getsid"),
	ALLOW("setsid", "subprocess(start_new_session=True)"),
	ALLOW("getuid", "os.getuid, the dynamic loader"),
	ALLOW("geteuid", "as getuid"),
	ALLOW("getgid", "as getuid"),
	ALLOW("getegid", "as getuid"),
	ALLOW("getresuid", "as getuid"),
	ALLOW("getresgid", "as getuid"),
	ALLOW("getgroups", "os.getgroups, id"),
	ALLOW("uname", "platform.uname"),
	ALLOW("getpriority", "os.getpriority"),
	ALLOW("setpriority", "os.nice; RLIMIT_NICE lets it only give up"),
	ALLOW("sched_yield", "spinning BLAS and OpenMP threads"),
	ALLOW("sched_getaffinity", "os.cpu_count of numpy, joblib"),
	ALLOW("sched_setaffinity", "OpenMP pins its threads"),
	ALLOW("sched_getscheduler", "pthread_getattr_np"),
	ALLOW("sched_getparam", "pthread_getattr_np"),
	ALLOW("sched_get_priority_max", "pthread attributes"),
	ALLOW("sched_get_priority_min", "pthread attributes"),
	ALLOW("getcpu", "OpenMP, sched_getcpu"),
	ALLOW("getrandom", "os.urandom, secrets, uuid"),

	/* Signals; landlock keeps them inside */
	ALLOW("rt_sigaction", "signal.signal"),
	ALLOW("rt_sigprocmask", "every fork and thread"),
	ALLOW("rt_sigreturn", "end of every signal handler"),
	ALLOW("rt_sigpending", "signal.sigpending"),
	ALLOW("rt_sigsuspend", "shells wait for children"),
	ALLOW("rt_sigtimedwait", "signal.sigwait"),
	ALLOW("sigaltstack", "faulthandler"),
	UNLESS("kill", everyone, EPERM, "Popen.kill; -1 would take a session's checkpoints along"),
	ALLOW("tkill", "older programs"),
	ALLOW("tgkill", "abort, pthread_kill"),
	ALLOW("pause", "signal.pause"),
	ALLOW("restart_syscall", "a sleep that was stopped and continued"),
	ALLOW("pidfd_open", "asyncio waits for children"),
	ALLOW("pidfd_send_signal", "signal.pidfd_send_signal"),

	/* Time */
	ALLOW("clock_gettime", "time.time where there is no vdso"),
	ALLOW("clock_getres", "time.get_clock_info"),
	ALLOW("clock_nanosleep", "time.sleep"),
	ALLOW("nanosleep", "time.sleep of older versions"),
	ALLOW("gettimeofday", "time.time where there is no vdso"),
	ALLOW("time", "as gettimeofday"),
	ALLOW("alarm", "signal.alarm"),
	ALLOW("getitimer", "signal.getitimer"),
	ALLOW("setitimer", "signal.setitimer, time limits in code"),
	ALLOW("timer_create", "timeout(1); counted by RLIMIT_SIGPENDING"),
	ALLOW("timer_settime", "as timer_create"),
	ALLOW("timer_gettime", "as timer_create"),
	ALLOW("timer_getoverrun", "as timer_create"),
	ALLOW("timer_delete", "as timer_create"),
	ALLOW("timerfd_create", "event loops"),
	ALLOW("timerfd_settime", "event loops"),
	ALLOW("timerfd_gettime", "event loops"),

	/* Waiting */
	ALLOW("poll", "subprocess.communicate, selectors"),
	ALLOW("ppoll", "selectors"),
	ALLOW("select", "select.select"),
	ALLOW("pselect6", "select.select"),
	ALLOW("epoll_create", "older event loops"),
	ALLOW("epoll_create1", "asyncio"),
	ALLOW("epoll_ctl", "asyncio"),
	ALLOW("epoll_wait", "asyncio"),
	ALLOW("epoll_pwait", "event loops"),
	ALLOW("epoll_pwait2", "event loops"),
	ALLOW("eventfd2", "event loops wake up"),
	ALLOW("signalfd4", "event loops take signals"),

	/* Sockets: between the processes of one sandbox, and its channel */
	ONLY_UNTIL(SHOWN_APART, "socket", unix_only, EAFNOSUPPORT,
		   "multiprocessing; the answer of a host without a net; a folder of the host may "
		   "hold a socket to connect to"),
	ONLY("socketpair", unix_pairs, EAFNOSUPPORT, "asyncio wakes itself up by one"),
	ALLOW("bind", "multiprocessing.Manager"),
	COUNTED("listen", EOPNOTSUPP,
		"multiprocessing.Manager; what waits in its queue is the "
		"kernel's memory, held by no descriptor"),
	ALLOW("accept", "multiprocessing.Manager of older versions"),
	ALLOW("accept4", "multiprocessing.Manager"),
	ALLOW("connect", "multiprocessing.Manager; nscd, which is not there"),
	ALLOW("shutdown", "asyncio streams"),
	ALLOW("getsockname", "socket.socket(fileno=)"),
	ALLOW("getpeername", "asyncio transports"),
	ONLY("getsockopt", socket_questions, ENOPROTOOPT, "SO_TYPE, SO_ERROR; not who the peer is"),
	ONLY("setsockopt", socket_options, ENOPROTOOPT, "timeouts; no programs, no larger buffers"),
	ONLY("sendto", packet_in_band, EOPNOTSUPP, "socket.send; unix sockets' MSG_OOB had holes"),
	ONLY("recvfrom", packet_in_band, EOPNOTSUPP, "socket.recv, as sendto"),
	ONLY("sendmsg", message_in_band, EOPNOTSUPP, "descriptors to workers, as sendto"),
	ONLY("recvmsg", message_in_band, EOPNOTSUPP, "descriptors to workers, as sendto"),
};

const size_t call_row_count = ARRAY_LEN(call_rows);
