// SPDX-License-Identifier: Apache-2.0
#define PY_SSIZE_T_CLEAN
#include "runner/head.h"

#include <Python.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/prctl.h>

#include "base/c.h"
#include "walls/wall.h"

/* A look says what it has to say on its channel, and is heard nowhere else. */
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

/* The child's own descriptors, before any handler of Python's or of the user's can run. */
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
		PyOS_AfterFork_Child();
		return 0;
	}
	if (pid < 0)
		(void)err_sys(err, "fork");
	PyOS_AfterFork_Parent();
	/* Forks of a zygote have changed their ids and are not dumpable anyway; this is for others.
	 */
	if (pid > 0 && !is_look)
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return pid < 0 ? -EAGAIN : pid;
}
