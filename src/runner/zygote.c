// SPDX-License-Identifier: Apache-2.0
#define PY_SSIZE_T_CLEAN
#include "runner/zygote.h"

#include <Python.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "base/io.h"
#include "proto/frame.h"
#include "proto/zygote_msg.h"
#include "runner/arena.h"
#include "runner/libraries.h"
#include "walls/wall.h"

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif

struct zygote {
	int socket;    /* owned by the caller */
	int own_pidns; /* owned */
	struct zygote_walls walls;
};

static size_t count_threads(void)
{
	DIR *stream = opendir("/proc/self/task");
	const struct dirent *entry = NULL;
	size_t count = 0;

	if (stream == NULL)
		return 0;
	while ((entry = readdir(stream)) != NULL)
		count += entry->d_name[0] != '.';
	(void)closedir(stream);
	return count;
}

/*
 * A preload that has started threads (a BLAS pool, say) cannot be forked by a raw clone: locks may
 * be held, and the library's own fork handlers would not run. So the zygote forks itself once with
 * glibc's fork(), which runs them, and the child, now alone, goes on as the zygote. The parent
 * ends; launch, pid 1 of our pid namespace, becomes the child's parent, as CLONE_PARENT needs.
 */
static int shed_threads(struct err *err)
{
	pid_t pid;

	if (count_threads() == 1)
		return 0;
	PyOS_BeforeFork();
	pid = fork();
	if (pid == 0) {
		PyOS_AfterFork_Child();
		/* Wait until launch has inherited us: with the old parent dead getppid() is 1. */
		while (getppid() != 1)
			(void)sched_yield();
		return count_threads() == 1 ? 0
					    : err_set(err, ERR_UNSUPPORTED, EBUSY,
						      "a preload starts threads in every fork");
	}
	if (pid < 0) {
		PyOS_AfterFork_Parent();
		return err_sys(err, "fork without the threads");
	}
	_exit(0);
}

/* fork() with launch as the child's parent, and the child born in its cgroup. Sound only with one
 * thread: glibc keeps the thread id where PR_GET_TID_ADDRESS points, and its list of robust mutexes
 * is registered per thread; both are set here, as fork() would. */
static pid_t clone_sibling(int cgroup)
{
	void *robust = NULL;
	size_t robust_size = 0;
	int *tid = NULL;
	struct clone_args args = {.flags = CLONE_PARENT};
	pid_t pid;

	if (prctl(PR_GET_TID_ADDRESS, &tid) == 0 && tid != NULL) {
		args.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
		args.child_tid = (uint64_t)(uintptr_t)tid;
	}
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)cgroup;
	}
	(void)syscall(SYS_get_robust_list, 0, &robust, &robust_size);

	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0 && robust != NULL)
		(void)syscall(SYS_set_robust_list, robust, robust_size);
	return pid;
}

/* In the child, before anything else runs: wait for the cgroup, then put the walls up. */
static int child_enter(const struct zygote *zygote, const struct zygote_fork *request,
		       const int *fds, struct walls_report *report)
{
	struct walls_input input = {
		.plan = request->plan,
		.shell_pidfd = fds[ZYGOTE_FD_SHELL],
		.channel = fds[ZYGOTE_FD_CHANNEL],
		.std = {fds[ZYGOTE_FD_STDIN], fds[ZYGOTE_FD_STDOUT], fds[ZYGOTE_FD_STDERR]},
		.landlock_abi = zygote->walls.landlock_abi,
		.is_measured = zygote->walls.is_measured,
		.is_shared = zygote->walls.is_shared,
	};
	const struct seccomp_kind kind = {.is_measured = zygote->walls.is_measured != 0,
					  .shown = request->plan.shown};
	struct err err = {0};

	input.filter = seccomp_program(&kind, &input.filter_count);
	if (walls_wait(fds[ZYGOTE_FD_STATUS], &input, &err) == 0 &&
	    walls_up(&input, report, &err) == 0 &&
	    frame_send_hello(WALL_CHANNEL_FD, report->up, report->landlock_abi, report->shown,
			     &err) == 0)
		return 0;
	if (send(fds[ZYGOTE_FD_STATUS], &err, sizeof(err), MSG_NOSIGNAL) < 0)
		(void)dprintf(2, "vivarium: %s\n", err.text);
	return -EPERM;
}

/* Returns 1 in the child inside its sandbox, 0 in the zygote. */
static int fork_one(struct zygote *zygote, const struct zygote_fork *request, const int *fds,
		    size_t fd_count, struct walls_report *report)
{
	struct zygote_answer answer = {.type = ZYGOTE_FORKED, .sandbox = request->sandbox};
	pid_t pid = -1;

	if (fd_count < ZYGOTE_FD_CGROUP) {
		(void)err_set(&answer.err, ERR_BUSY, EMFILE, "the zygote got no descriptors");
	} else if (setns(fds[ZYGOTE_FD_SHELL], CLONE_NEWPID) < 0) {
		(void)err_sys(&answer.err, "setns to the shell's pid namespace");
	} else {
		PyOS_BeforeFork();
		pid = clone_sibling(fds[ZYGOTE_FD_CGROUP]);
		if (pid == 0) {
			if (child_enter(zygote, request, fds, report) < 0)
				_exit(125);
			PyOS_AfterFork_Child();
			return 1;
		}
		if (pid < 0)
			(void)err_sys(&answer.err, "clone");
		PyOS_AfterFork_Parent();
		if (setns(zygote->own_pidns, CLONE_NEWPID) < 0)
			_exit(1); /* otherwise every later child would end up in that sandbox */
	}
	answer.pid = pid;
	(void)io_send_fds(zygote->socket, &answer, sizeof(answer), NULL, 0);
	return 0;
}

static int read_walls(struct zygote *zygote, struct err *err)
{
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	ssize_t n =
		io_recv_fds(zygote->socket, &zygote->walls, sizeof(zygote->walls), fds, &fd_count);

	if (n == 0)
		return 1; /* launch is gone */
	if (n != (ssize_t)sizeof(zygote->walls) || zygote->walls.type != ZYGOTE_WALLS)
		return err_set(err, ERR_INTERNAL, EPROTO, "launch did not say what the walls are");
	return 0;
}

/* The first larger malloc of each child would consolidate the heap page by page, with 1000 page
 * faults. Doing that here, as the very last step, lets all children share the result. */
static void tidy_heap(void)
{
	for (size_t size = 32; size <= 256 * KIB; size *= 2)
		free(malloc(size));
	(void)malloc_trim(0);
}

void zygote_fail(int socket, const char *why)
{
	struct zygote_answer failed = {.type = ZYGOTE_FAILED};

	(void)err_set(&failed.err, ERR_UNSUPPORTED, ELIBACC, "%s", why);
	(void)io_send_fds(socket, &failed, sizeof(failed), NULL, 0);
}

int zygote_serve(int socket, const char *lacks, struct walls_report *ret_report, struct err *err)
{
	static struct zygote zygote;
	struct zygote_answer ready = {.type = ZYGOTE_READY};
	int r;

	if (lacks[0] != '\0')
		(void)err_set(&ready.err, ERR_UNSUPPORTED, ENOPKG, "%s", lacks);

	zygote.socket = socket;
	r = read_walls(&zygote, err);
	if (r != 0)
		return r;
	r = shed_threads(err);
	if (r < 0)
		return r;
	zygote.own_pidns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (zygote.own_pidns < 0)
		return err_sys(err, "open the pid namespace");
	tidy_heap();
	arena_settle();
	libraries_merge();
	if (io_send_fds(socket, &ready, sizeof(ready), NULL, 0) < 0)
		/* If launch dropped this zygote while it imported, that is an end of file like any
		 * other. */
		return errno == EPIPE ? 1 : err_sys(err, "tell launch that the zygote is ready");

	for (;;) {
		struct zygote_fork request = {0};
		int fds[IO_FDS_MAX];
		size_t fd_count = 0;
		ssize_t n = io_recv_fds(socket, &request, sizeof(request), fds, &fd_count);

		if (n <= 0)
			return 1;
		if (n == (ssize_t)sizeof(request) && request.type == ZYGOTE_FORK &&
		    fork_one(&zygote, &request, fds, fd_count, ret_report) == 1)
			return 0;
		for (size_t i = 0; i < IO_FDS_MAX; i++)
			drop_fd(&fds[i]);
	}
}
