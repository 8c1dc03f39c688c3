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

/*
 * Should:   join every namespace of the shell that launch has made, its user namespace last, and
 *           come out as the one mapped id in a session of its own, standing in /workspace.
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

	/* Some kernel memory is charged to nobody (file locks). If the host runs out of memory by
	 * it, a sandbox goes first. Inside, proc is read-only: it cannot be taken back. */
	r = io_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000", err);
	if (r < 0)
		return r;
	if (setns(input->shell_pidfd, outer) < 0)
		return err_sys(err, "join the shell's namespaces");
	/* The root of a cgroup namespace is the group one is in when it is made: by now the right
	 * one. Made earlier, host names would show in /proc/self/cgroup. */
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
