// SPDX-License-Identifier: Apache-2.0
#define PY_SSIZE_T_CLEAN
#include "runner/head.h"

#include <Python.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/c.h"
#include "walls/wall.h"

/* The heads that were forked here and not reaped yet; 0: a free slot. Only one thread of the
 * interpreter forks, and only it uses this. */
static pid_t forked[32];

static void note_fork(pid_t pid)
{
	for (size_t i = 0; i < ARRAY_LEN(forked); i++) {
		if (forked[i] == 0) {
			forked[i] = pid;
			return;
		}
	}
}

static void forget_forks(void)
{
	for (size_t i = 0; i < ARRAY_LEN(forked); i++)
		forked[i] = 0;
}

/* Reaps the heads that have ended; false if none are left. */
static bool reap_forks(void)
{
	bool is_left = false;

	for (size_t i = 0; i < ARRAY_LEN(forked); i++) {
		if (forked[i] != 0 && waitpid(forked[i], NULL, WNOHANG) != 0)
			forked[i] = 0;
		is_left |= forked[i] != 0;
	}
	return is_left;
}

/* Since Linux 6.15 a pidfd tells how its process ended, but only after the process was reaped. On
 * older kernels that is known only until it is reaped, so there is no hurry. */
static bool must_reap_at_once(void)
{
	struct utsname host;
	char *end = NULL;
	long major;
	long minor;

	if (uname(&host) < 0)
		return false;
	major = strtol(host.release, &end, 10);
	minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major > 6 || (major == 6 && minor >= 15);
}

static void on_child(int number)
{
	(void)number;
}

void head_wait(int channel)
{
	struct sigaction woken = {.sa_handler = on_child};
	struct sigaction before;
	struct pollfd wait = {.fd = channel, .events = POLLIN};
	sigset_t child;
	sigset_t mask;
	sigset_t open_mask;

	if (!reap_forks() || !must_reap_at_once()) {
		/* A process that waits in recvmsg() is also woken when there is room to write: that
		 * is, when viv has just taken our last frame and needs the CPU itself. */
		(void)poll(&wait, 1, -1);
		return;
	}
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, &mask) < 0)
		return;
	(void)sigaction(SIGCHLD, &woken, &before);
	open_mask = mask;
	(void)sigdelset(&open_mask, SIGCHLD);
	/* The signal can only arrive inside ppoll(): none is missed between the check and the
	 * wait. */
	while (reap_forks() && ppoll(&wait, 1, NULL, &open_mask) < 0 && errno == EINTR)
		continue;
	(void)sigaction(SIGCHLD, &before, NULL);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* A look answers on its channel and must not be heard anywhere else. */
static int close_streams(void)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (null != fd && dup2(null, fd) < 0)
			return -errno;
	}
	return 0;
}

static int take_stream(int fd, int target)
{
	return fd < 0 || dup2(fd, target) >= 0 ? 0 : -errno;
}

/* Installs the child's own descriptors, before any handler of Python's or the user's can run. */
static int take_fds(const struct head_fds *fds, bool is_look)
{
	int r;

	if (dup3(fds->channel, WALL_CHANNEL_FD, O_CLOEXEC) < 0)
		return -errno;
	if (is_look)
		return close_streams();
	r = take_stream(fds->out, STDOUT_FILENO);
	return r < 0 ? r : take_stream(fds->err, STDERR_FILENO);
}

pid_t head_fork(const struct head_fds *fds, bool is_look, struct err *err)
{
	pid_t pid;

	PyOS_BeforeFork();
	pid = fork();
	if (pid == 0) {
		/* A signal to one head's group must not reach another head. */
		if (take_fds(fds, is_look) < 0 || setpgid(0, 0) < 0)
			_exit(125);
		forget_forks();
		PyOS_AfterFork_Child();
		return 0;
	}
	if (pid < 0)
		(void)err_sys(err, "fork");
	PyOS_AfterFork_Parent();
	/* Forks of a zygote have changed their ids and are not dumpable anyway; this is for cold
	 * interpreters. */
	if (pid > 0 && !is_look) {
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		note_fork(pid);
	}
	return pid < 0 ? -EAGAIN : pid;
}
