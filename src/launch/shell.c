// SPDX-License-Identifier: Apache-2.0
#include "launch/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/shown.h"

/* The id that user code sees; walls/enter.c becomes it. */
#define SANDBOX_ID 1000U
#define NODE_NAME "vivarium"
#define INODES_MAX 262144

static int mount_tmpfs(const char *path, const struct shell_input *input, uint64_t size,
		       unsigned long flags, struct err *err)
{
	uint64_t inodes = size / 2048 < INODES_MAX ? size / 2048 + 64 : INODES_MAX;
	char options[128];

	(void)snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=0700,uid=%u,gid=%u",
		       (unsigned long long)size, (unsigned long long)inodes, input->id, input->id);
	if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | flags, options) < 0)
		return err_sys(err, "mount %s", path);
	return 0;
}

/*
 * Mounts a proc of the new pid namespace that shows only its processes. The template's full proc
 * must still be mounted for that (see root.c) and is unmounted afterwards, but stays open as
 * *ret_full: uid_map and a limit in sys/user are written through it later on.
 */
static int swap_proc(int *ret_full, struct err *err)
{
	const unsigned flags =
		MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	AUTO_CLOSE int full = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
	AUTO_CLOSE int fresh = -1;

	if (full < 0 || context < 0)
		return err_sys(err, "open proc");
	if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "subset", "pid", 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "hidepid", "invisible", 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, "configure proc");
	fresh = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, flags);
	if (fresh < 0)
		return err_sys(err, "make proc");

	if (umount2("/proc", MNT_DETACH) < 0)
		return err_sys(err, "take the template's proc away");
	if (syscall(SYS_move_mount, fresh, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, "mount proc");
	*ret_full = steal_fd(&full);
	return 0;
}

/* Gets the template root: given at the start, or sent by the inner half once it is built. */
static int await_root(const struct shell_input *input, int status, int *ret_mntns, struct err *err)
{
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	struct err built;

	if (input->mntns >= 0) {
		*ret_mntns = input->mntns;
		return 0;
	}
	if (io_recv_fds(status, &built, sizeof(built), fds, &fd_count) != (ssize_t)sizeof(built) ||
	    fd_count != 1)
		return err_set(err, ERR_INTERNAL, EIO, "no root came");
	*ret_mntns = fds[0]; /* closed with all others, before any other process is in here */
	return 0;
}

static int make_mounts(const struct shell_input *input, int mntns, struct shown *shown,
		       int *ret_proc, struct err *err)
{
	const unsigned long flags = input->root->is_bare != 0 ? MS_NOEXEC : 0;
	int r;

	if (setns(mntns, CLONE_NEWNS) < 0)
		return err_sys(err, "enter the template root");
	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(err, "copy the template root");

	/* Before the tmpfs: the paths below still show the template's files. */
	r = shown_cover(input->root, shown, err);
	if (r < 0)
		return r;
	r = mount_tmpfs("/workspace", input, input->plan.disk, flags, err);
	if (r < 0)
		return r;
	r = mount_tmpfs("/tmp", input, input->plan.disk, flags, err);
	if (r < 0)
		return r;
	r = mount_tmpfs("/dev/shm", input, input->plan.memory / 2, MS_NOEXEC, err);
	if (r < 0)
		return r;
	return swap_proc(ret_proc, err);
}

static int enter_user(const struct shell_input *input, int proc, struct err *err)
{
	char map[48];
	int r;

	/* Keeps the capabilities over the change of id; the next steps need them. */
	if (prctl(PR_SET_KEEPCAPS, 1) < 0)
		return err_sys(err, "keep capabilities");
	if (input->has_range && (setresgid(input->id, input->id, input->id) < 0 ||
				 setresuid(input->id, input->id, input->id) < 0))
		return err_sys(err, "become id %u", input->id);
	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, "unshare user");
	/* The change of id made the process undumpable, and root the owner of its map files (man 5
	 * proc). */
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		return err_sys(err, "dumpable");
	(void)snprintf(map, sizeof(map), "%u %u 1", SANDBOX_ID, input->id);
	r = io_write_file(proc, "self/setgroups", "deny", err);
	if (r < 0)
		return r;
	r = io_write_file(proc, "self/uid_map", map, err);
	if (r < 0)
		return r;
	r = io_write_file(proc, "self/gid_map", map, err);
	if (r < 0)
		return r;

	/* A second line of defence: no namespace below this one. A sandbox with its own id is
	 * already stopped by the inner half's limit of one per id (inner.c), which costs nothing
	 * here. */
	if (input->has_range)
		return 0;
	return io_write_file(proc, "sys/user/max_user_namespaces", "0", err);
}

/* The init keeps nothing: no capability and no way to gain one, no descriptor, no tracer. */
static int give_up_all(struct err *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, "no_new_privs");
	if (syscall(SYS_capset, &header, none) < 0)
		return err_sys(err, "drop capabilities");
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, "undumpable");
	return 0;
}

static int build(const struct shell_input *input, int status, struct shown *shown, struct err *err)
{
	AUTO_CLOSE int proc = -1;
	int mntns = -1;
	int r;

	r = await_root(input, status, &mntns, err);
	if (r < 0)
		return r;
	r = make_mounts(input, mntns, shown, &proc, err);
	if (r < 0)
		return r;
	if (input->netns >= 0 && setns(input->netns, CLONE_NEWNET) < 0)
		return err_sys(err, "enter the network namespace");
	/* Both are inherited, and the host's must not show. */
	if (sethostname(NODE_NAME, strlen(NODE_NAME)) < 0 ||
	    setdomainname(NODE_NAME, strlen(NODE_NAME)) < 0)
		return err_sys(err, "hostname");

	r = enter_user(input, proc, err);
	if (r < 0)
		return r;
	return give_up_all(err);
}

static _Noreturn void init_main(const struct shell_input *input, int status)
{
	struct shell_report report = {0};
	struct shown shown = {0};
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);

	if (build(input, status, &shown, &report.err) < 0) {
		(void)send(status, &report, sizeof(report), MSG_NOSIGNAL);
		_exit(1);
	}
	(void)prctl(PR_SET_NAME, "init");
	(void)chdir("/");
	report.shown = shown.how;
	(void)io_send_fds(status, &report, sizeof(report), shown.contexts, shown.count);
	(void)syscall(SYS_close_range, 0U, ~0U, 0U);

	for (;;) {
		(void)sigwaitinfo(&all, NULL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
}

pid_t shell_start(const struct shell_input *input, int *ret_pidfd, int *ret_status, struct err *err)
{
	int pidfd = -1;
	int pair[2];
	struct clone_args args = {
		.flags = (uint64_t)(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD),
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	pid_t pid;

	if (input->netns < 0)
		args.flags |= CLONE_NEWNET;
	if (input->cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)input->cgroup;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");

	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		(void)close(pair[0]);
		init_main(input, pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return err_sys(err, "clone a shell");
	}
	*ret_pidfd = pidfd;
	*ret_status = pair[0];
	return pid;
}
