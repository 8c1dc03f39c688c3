// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/io.h"
#include "walls/wall.h"

/* The one id that a sandbox's user namespace maps (launch/shell.c). */
#define SANDBOX_ID 1000

int walls_wait(int status, struct walls_input *input, struct err *err)
{
	struct walls_go go = {0};
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;

	if (io_recv_fds(status, &go, sizeof(go), fds, &fd_count) != (ssize_t)sizeof(go))
		return err_set(err, ERR_INTERNAL, EPIPE, "nobody said go");
	if (go.task_count > WALL_TASKS_MAX || fd_count != go.task_count)
		return err_set(err, ERR_BUSY, EMFILE, "got descriptors of %zu cgroups, not %u",
			       fd_count, go.task_count);
	for (size_t i = 0; i < fd_count; i++)
		input->tasks[i] = fds[i];
	input->task_count = go.task_count;
	return 0;
}

/* Joins the v1 groups (this process was born into its v2 group). They count and limit it from here
 * on. */
static int join_groups(const struct walls_input *input, struct err *err)
{
	for (uint32_t i = 0; i < input->task_count; i++) {
		if (write(input->tasks[i], "0", 1) != 1)
			return err_sys(err, "join a cgroup");
	}
	return 0;
}

/*
 * Should:   join every namespace of the shell that launch has made, its user namespace last, and
 *           come out as the one mapped id in a session of its own, standing in /workspace; be in
 *           its cgroups before that.
 * Must not: be pid 1 (the shell's init is), keep a working directory or a controlling terminal
 *           from outside, or pass on a blocked signal.
 *
 * The pid namespace was set for this process before it was forked: setns(2) changes only the
 * pid namespace of children. The user namespace comes last because the others are owned by its
 * parent, and the capability to join them is lost on entering it.
 */
static int enter_up(const struct walls_input *input, struct err *err)
{
	const int outer = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
	sigset_t none;
	int r;

	/* Some kernel memory is charged to no cgroup (file locks, which launch/watch.c bounds). If
	 * the host runs out of memory because of it, a sandbox is killed first. Inside, proc is
	 * read-only, so this cannot be undone. */
	r = io_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000", err);
	if (r < 0)
		return r;
	r = join_groups(input, err);
	if (r < 0)
		return r;
	if (setns(input->shell_pidfd, outer) < 0)
		return err_sys(err, "join the shell's namespaces");
	/* The root of a cgroup namespace is the group its maker is in: by now the right one. Made
	 * earlier, host names would show in /proc/self/cgroup. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(err, "unshare cgroup");
	if (setns(input->shell_pidfd, CLONE_NEWUSER) < 0)
		return err_sys(err, "join the shell's user namespace");

	if (setresgid(SANDBOX_ID, SANDBOX_ID, SANDBOX_ID) < 0)
		return err_sys(err, "setresgid");
	if (setresuid(SANDBOX_ID, SANDBOX_ID, SANDBOX_ID) < 0)
		return err_sys(err, "setresuid");
	if (getpid() == 1 || getuid() != SANDBOX_ID || getgid() != SANDBOX_ID)
		return err_set(err, ERR_INTERNAL, EPERM, "entered as pid %d, uid %u, gid %u",
			       getpid(), getuid(), getgid());

	if (setsid() < 0)
		return err_sys(err, "setsid");
	(void)umask(077);
	if (chdir("/workspace") < 0)
		return err_sys(err, "chdir /workspace");

	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_sys(err, "sigprocmask");
	return 0;
}

const struct wall wall_enter = {
	.name = "enter",
	.ids = 1U << WALL_USER | 1U << WALL_MOUNT | 1U << WALL_PID | 1U << WALL_NET |
	       1U << WALL_IPC | 1U << WALL_UTS | 1U << WALL_CGROUP,
	.up = enter_up,
};
