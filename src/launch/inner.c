// SPDX-License-Identifier: Apache-2.0
#include "launch/inner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/box.h"
#include "launch/boxes.h"
#include "launch/files.h"
#include "launch/measure.h"
#include "launch/roots.h"
#include "launch/zygote.h"
#include "proto/zygote_msg.h"

#define MEASURE_MS 50

/* The source of an epoll event: its kind in the upper half, an index in the lower. */
enum source {
	SOURCE_CONTROL,
	SOURCE_SIGNAL,
	SOURCE_ZYGOTE,
	SOURCE_BOX,
	SOURCE_SAMPLE,
	SOURCE_FILES,
	SOURCE_ROOT,
};

static int watch(const struct inner *inner, int fd, uint32_t kind, uint32_t index, struct err *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)kind << 32 | index};

	/* ENOSPC: processes with our user id have used up its epoll watches (man 7 epoll). */
	if (epoll_ctl(inner->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return err_sys(err, "watch a descriptor");
	return 0;
}

int inner_watch_box(const struct inner *inner, const struct box *box, struct err *err)
{
	return watch(inner, box->status, SOURCE_BOX, box->id, err);
}

int inner_watch_root(const struct inner *inner, int builder, uint32_t id, struct err *err)
{
	return watch(inner, builder, SOURCE_ROOT, id, err);
}

int inner_watch_files(const struct inner *inner, int pidfd, uint32_t id, struct err *err)
{
	return watch(inner, pidfd, SOURCE_FILES, id, err);
}

int inner_watch_sample(const struct inner *inner, int fd)
{
	struct err ignored = {0};

	return watch(inner, fd, SOURCE_SAMPLE, 0, &ignored);
}

void inner_tell(struct inner *inner, const struct launch_event *event, int fd)
{
	AUTO_CLOSE int owned = fd;

	/* Blocks when the outer half is slow; that half never blocks on us. */
	if (io_send_fds(inner->control, event, sizeof(*event), &fd, fd >= 0 ? 1 : 0) < 0 && fd >= 0)
		(void)io_send_fds(inner->control, event, sizeof(*event), NULL, 0);
}

void inner_tell_err(struct inner *inner, uint32_t type, uint32_t id, const struct err *err)
{
	struct launch_event event = {.type = type, .id = id, .err = *err};

	inner_tell(inner, &event, -1);
}

/* A private, empty network namespace. A sandbox has no capability to change anything in it, so it
 * is reused: making one is the most expensive step of all (0.6 ms). */
int inner_netns_take(struct inner *inner, struct err *err)
{
	int fd;

	if (inner->netns_free > 0)
		return inner->netns[--inner->netns_free];

	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(err, "make a network namespace");
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		(void)err_sys(err, "open the network namespace");
	if (setns(inner->own_netns, CLONE_NEWNET) < 0)
		abort(); /* our next child would be in that sandbox's network */
	if (fd < 0)
		return -err->num;
	inner->netns_count++;
	return fd;
}

void inner_netns_give(struct inner *inner, int *take_fd)
{
	if (*take_fd < 0)
		return;
	if (inner->netns_free < inner->netns_keep) {
		inner->netns[inner->netns_free++] = steal_fd(take_fd);
		return;
	}
	drop_fd(take_fd);
	inner->netns_count--;
}

/* Leaves the host's network. A zygote imports other people's packages: never in the host's network,
 * and never in one that a sandbox gets. Without a zygote, making a namespace would only delay a
 * cold start. */
static int leave_network(struct inner *inner, struct err *err)
{
	if (inner->own_netns >= 0)
		return 0;
	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(err, "make a network namespace");
	inner->own_netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (inner->own_netns < 0)
		return err_sys(err, "open the network namespace");
	return 0;
}

static void on_zygote(struct inner *inner, const struct launch_zygote *request)
{
	struct err err = {0};
	int socket = -1;

	roots_settle(inner, request->root);
	if (inner->roots[request->root].mntns < 0)
		(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "no root %u", request->root);
	else if (inner->zygotes[request->zygote] >= 0)
		(void)err_set(&err, ERR_CONFLICT, EEXIST, "zygote %u is up", request->zygote);
	else if (leave_network(inner, &err) == 0)
		(void)zygote_start(request, inner->roots[request->root].mntns, inner, &socket,
				   &err);
	if (err.kind == ERR_NONE)
		(void)watch(inner, socket, SOURCE_ZYGOTE, request->zygote, &err);
	if (err.kind != ERR_NONE) {
		drop_fd(&socket);
		inner_tell_err(inner, LAUNCH_ZYGOTE_DOWN, request->zygote, &err);
		return;
	}
	inner->zygotes[request->zygote] = socket;
}

static void zygote_down(struct inner *inner, uint32_t id, const struct err *err)
{
	if (inner->zygotes[id] < 0)
		return;
	(void)epoll_ctl(inner->epoll, EPOLL_CTL_DEL, inner->zygotes[id], NULL);
	drop_fd(&inner->zygotes[id]); /* a zygote ends at end of file on its socket */
	boxes_zygote_down(inner, id);
	inner_tell_err(inner, LAUNCH_ZYGOTE_DOWN, id, err);
}

static void on_zygote_answer(struct inner *inner, uint32_t id)
{
	struct zygote_answer answer = {0};
	struct err err = {0};
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	ssize_t n;

	if (inner->zygotes[id] < 0)
		return;
	n = io_recv_fds(inner->zygotes[id], &answer, sizeof(answer), fds, &fd_count);
	for (size_t i = 0; i < fd_count; i++)
		drop_fd(&fds[i]);
	if (n != (ssize_t)sizeof(answer)) {
		/* A failed import is told in words; this was a kill or a crash. */
		(void)err_set(&err, ERR_BUSY, ECHILD,
			      "the interpreter ended while it imported its packages");
		zygote_down(inner, id, &err);
		return;
	}
	answer.err.text[sizeof(answer.err.text) - 1] = '\0';
	if (answer.type == ZYGOTE_READY)
		inner_tell_err(inner, LAUNCH_ZYGOTE_UP, id, &answer.err);
	else if (answer.type == ZYGOTE_FAILED)
		zygote_down(inner, id, &answer.err);
	else if (answer.type == ZYGOTE_FORKED)
		boxes_forked(inner, answer.sandbox, answer.pid, &answer.err);
}

static uint32_t count_fds(void)
{
	DIR *stream = opendir("/proc/self/fd");
	uint32_t count = 0;

	if (stream == NULL)
		return 0;
	while (readdir(stream) != NULL)
		count++;
	(void)closedir(stream);
	return count;
}

static void on_count(struct inner *inner)
{
	struct launch_event event = {.type = LAUNCH_COUNTED};
	const struct box *box = NULL;
	struct rusage usage;

	LIST_FOREACH(box, &inner->boxes, next)
		event.counted.sandboxes++;
	event.counted.netns = inner->netns_count;
	/* Without the pipe of a memory sample, which comes and goes every 50 ms. */
	event.counted.fds_inner = count_fds() - (inner->sample >= 0 ? 1U : 0U);
	for (size_t i = 0; i < LAUNCH_ZYGOTES_MAX; i++)
		event.counted.zygotes += inner->zygotes[i] >= 0;
	for (size_t i = 0; i < LAUNCH_ROOTS_MAX; i++)
		event.counted.roots += inner->roots[i].mntns >= 0;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		event.counted.rss_inner = (uint64_t)usage.ru_maxrss * KIB;
	inner_tell(inner, &event, -1);
}

/* Drops everything of the previous viv, so that it cannot collide with what the next viv makes. */
static void on_forget(struct inner *inner)
{
	struct err none = {0};

	for (uint32_t i = 0; i < LAUNCH_ZYGOTES_MAX; i++)
		zygote_down(inner, i, &none);
	roots_forget(inner);
	inner_tell_err(inner, INNER_FORGOTTEN, 0, &none);
}

static void on_control(struct inner *inner)
{
	struct launch_request request = {0};
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	struct err err = {0};
	ssize_t n = io_recv_fds(inner->control, &request, sizeof(request), fds, &fd_count);

	if (n <= 0)
		_exit(0); /* the outer half has ended: so do we, and with us all sandboxes */

	switch (request.type) {
	case LAUNCH_ROOT:
		roots_make(inner, &request.root, fds);
		break;
	case LAUNCH_ZYGOTE:
		on_zygote(inner, &request.zygote);
		break;
	case LAUNCH_RETIRE:
		zygote_down(inner, request.id, &err);
		break;
	case LAUNCH_SPAWN:
		boxes_spawn(inner, &request.spawn, fds, fd_count);
		break;
	case INNER_ATTACH:
		boxes_attach(inner, request.id, fds, fd_count);
		break;
	case LAUNCH_BEGIN:
		boxes_begin(inner, request.begin.sandbox);
		break;
	case LAUNCH_END:
		boxes_end_run(inner, &request.ref);
		break;
	case LAUNCH_SAVE:
	case LAUNCH_RESTORE:
		files_request(inner, &request, fds, fd_count);
		break;
	case INNER_UNSAVE:
		files_unsave(inner, &request.ref);
		break;
	case INNER_REFRESH:
		if (request.id < LAUNCH_SANDBOXES_MAX && inner->by_id[request.id] != NULL)
			shown_refresh(&inner->by_id[request.id]->shown);
		break;
	case INNER_SHARED:
		boxes_share(inner, request.id);
		break;
	case INNER_FORGET:
		on_forget(inner);
		break;
	case LAUNCH_KILL:
		boxes_kill(inner, request.id);
		break;
	case LAUNCH_COUNT:
		on_count(inner);
		break;
	default:
		break;
	}
	for (size_t i = 0; i < IO_FDS_MAX; i++)
		drop_fd(&fds[i]);
}

/* As pid 1 we inherit every orphan of a zygote; those are only reaped. */
static void on_signal(struct inner *inner)
{
	struct signalfd_siginfo info;
	struct rusage usage;
	int status;
	pid_t pid;

	(void)!read(inner->signals, &info, sizeof(info));
	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
		boxes_reaped(inner, pid, status, &usage);
}

static void dispatch(struct inner *inner, const struct epoll_event *event)
{
	uint32_t index = (uint32_t)event->data.u64;

	switch ((enum source)(event->data.u64 >> 32)) {
	case SOURCE_CONTROL:
		on_control(inner);
		break;
	case SOURCE_SIGNAL:
		on_signal(inner);
		break;
	case SOURCE_ZYGOTE:
		on_zygote_answer(inner, index);
		break;
	case SOURCE_BOX:
		boxes_status(inner, index);
		break;
	case SOURCE_SAMPLE:
		measure_read(inner);
		break;
	case SOURCE_FILES:
		files_over(inner, index);
		break;
	case SOURCE_ROOT:
		roots_settle(inner, index);
		break;
	}
}

static void inner_init(struct inner *inner, int control)
{
	struct err err = {0};
	struct rlimit files;
	sigset_t signals;

	inner->control = control;
	LIST_INIT(&inner->boxes);
	TAILQ_INIT(&inner->busy);
	inner->sample = -1;
	inner->own_netns = -1;
	roots_init(inner);
	memset(inner->zygotes, 0xff, sizeof(inner->zygotes));

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, IO_MAKER_NAME);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		_exit(1);
	/* Mounts proc for our own pid namespace, for measure.c. Where that is refused (a masked
	 * /proc), building a root fails too and reports why. */
	(void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);

	/* The setup above needs no input, and the outer half is busy with cgroups meanwhile. */
	if (recv(control, &inner->input, sizeof(inner->input), 0) != (ssize_t)sizeof(inner->input))
		_exit(0);

	/* One user namespace per id: a sandbox already is in its own and can make none below it. It
	 * is also behind seccomp, which refuses the calls. (If this were set for each sandbox
	 * instead, the kernel would search a list as long as the number of sandboxes.) */
	if (inner->input.map.count > 1 &&
	    io_write_file(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "1", &err) < 0)
		_exit(1);

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &signals, NULL);
	inner->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	inner->epoll = epoll_create1(EPOLL_CLOEXEC);
	inner->own_pidns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (inner->signals < 0 || inner->epoll < 0 || inner->own_pidns < 0 ||
	    watch(inner, inner->control, SOURCE_CONTROL, 0, &err) < 0 ||
	    watch(inner, inner->signals, SOURCE_SIGNAL, 0, &err) < 0)
		_exit(1);

	/* Pooled namespaces must not use up descriptors that the next sandbox needs. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 16 < NETNS_POOL)
		inner->netns_keep = files.rlim_cur / 16;
	else
		inner->netns_keep = NETNS_POOL;
}

static bool any_armed(const struct inner *inner)
{
	const struct box *box = NULL;

	LIST_FOREACH(box, &inner->boxes, next) {
		if (box->is_armed && !box->is_dying)
			return true;
	}
	return false;
}

_Noreturn void inner_main(int control)
{
	struct inner *inner = xnew(struct inner);

	inner_init(inner, control);
	inner_tell_err(inner, INNER_UP, 0, &(struct err){0});
	for (;;) {
		struct epoll_event events[32];
		bool measures = inner->input.is_measured && any_armed(inner);
		int timeout = files_timeout(inner);
		int n;

		if (measures && (timeout < 0 || timeout > MEASURE_MS))
			timeout = MEASURE_MS;
		n = epoll_wait(inner->epoll, events, ARRAY_LEN(events), timeout);

		for (int i = 0; i < n; i++)
			dispatch(inner, &events[i]);
		/* Checked last: a sandbox that ended meanwhile needs no sample, which would only
		 * delay its end. */
		if (measures && any_armed(inner) && now_ns() >= inner->next_sample_ns) {
			inner->next_sample_ns = now_ns() + MEASURE_MS * 1000000ULL;
			measure_start(inner);
		}
		files_tick(inner);
	}
}
