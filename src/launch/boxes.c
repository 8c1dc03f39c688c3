// SPDX-License-Identifier: Apache-2.0
#include "launch/boxes.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/files.h"
#include "launch/roots.h"
#include "launch/shell.h"
#include "launch/zygote.h"
#include "proto/zygote_msg.h"

static struct box_pids *bucket(struct inner *inner, pid_t pid)
{
	return &inner->by_pid[(size_t)pid % ARRAY_LEN(inner->by_pid)];
}

static void remember(struct inner *inner, struct box *box, struct box_pid *entry, pid_t pid)
{
	*entry = (struct box_pid){.box = box, .pid = pid};
	LIST_INSERT_HEAD(bucket(inner, pid), entry, next);
}

static void forget(struct box_pid *entry)
{
	LIST_REMOVE(entry, next);
	entry->pid = 0;
}

static struct box *find(const struct inner *inner, uint32_t id)
{
	return id < LAUNCH_SANDBOXES_MAX ? inner->by_id[id] : NULL;
}

/* Killing the init of a pid namespace ends everything in it, double forks included. The init is our
 * child and not reaped yet, so its pid cannot belong to another process. */
static void kill_init(struct box *box)
{
	box->is_dying = true;
	files_stop(box->files);
	if (box->init.pid > 0)
		(void)kill(box->init.pid, SIGKILL);
}

void boxes_fail(struct box *box, const struct err *err)
{
	if (box->err.kind == ERR_NONE)
		box->err = *err;
	kill_init(box);
}

/* Closing alone is not enough: a shell that is being built still holds a copy of the descriptor,
 * and epoll would report end of file over and over until the shell closes it, too. */
static void drop_status(const struct inner *inner, struct box *box)
{
	if (box->status >= 0)
		(void)epoll_ctl(inner->epoll, EPOLL_CTL_DEL, box->status, NULL);
	drop_fd(&box->status);
}

/* Frees the box once nothing of it is alive and no fork for it is due. */
void boxes_finish(struct inner *inner, struct box *box)
{
	struct launch_event event = {.type = LAUNCH_GONE, .id = box->id, .err = box->err};

	if (box->init.pid > 0 || box->head.pid > 0 || box->phase == BOX_FORKING ||
	    files_is_busy(box->files))
		return;

	LIST_REMOVE(box, next);
	inner->by_id[box->id] = NULL;
	inner_netns_give(inner, &box->netns);
	files_free(STEAL(box->files));
	drop_fd(&box->init_pidfd);
	drop_status(inner, box);
	drop_fd(&box->cgroup);
	for (size_t i = 0; i < ARRAY_LEN(box->fds); i++)
		drop_fd(&box->fds[i]);
	shown_done(&box->shown);
	free(box);
	inner_tell(inner, &event, -1);
}

/* Lets the interpreter enter; see walls_wait. */
static void say_go(const struct box *box, const int *tasks, size_t count)
{
	const struct walls_go go = {.task_count = (uint32_t)count};

	(void)io_send_fds(box->status, &go, sizeof(go), tasks, count);
}

static struct box *box_new(struct inner *inner, const struct launch_spawn *spawn, int *take_fds,
			   size_t fd_count)
{
	struct box *box = xnew(struct box);

	box->id = spawn->sandbox;
	box->spawn = *spawn;
	box->init_pidfd = -1;
	box->status = -1;
	box->netns = -1;
	for (size_t i = 0; i < ARRAY_LEN(box->fds); i++)
		box->fds[i] = steal_fd(&take_fds[i]);
	box->cgroup = fd_count > 4 ? steal_fd(&take_fds[4]) : -1;
	LIST_INSERT_HEAD(&inner->boxes, box, next);
	inner->by_id[box->id] = box;
	return box;
}

/* A host id of its own for each sandbox, the longest unused one first: for a moment after a sandbox
 * ends, the kernel still counts its user namespace against its id. */
static uint32_t take_id(struct inner *inner)
{
	inner->next_id = (inner->next_id + 1) % (IDMAP_COUNT - IDMAP_FIRST_SANDBOX);
	return IDMAP_FIRST_SANDBOX + inner->next_id;
}

static int start_shell(struct inner *inner, struct box *box, struct err *err)
{
	const bool has_range = inner->input.map.count > 1;
	struct shell_input shell = {
		.plan = box->spawn.plan,
		.cgroup = box->cgroup,
		.id = has_range ? take_id(inner) : 0,
		.has_range = has_range,
	};
	pid_t pid;
	int r = roots_take(inner, box, &shell, err);

	if (r < 0)
		return r;
	if (inner->own_netns >= 0) {
		box->netns = inner_netns_take(inner, err);
		if (box->netns < 0)
			return box->netns;
	}
	shell.netns = box->netns;

	pid = shell_start(&shell, &box->init_pidfd, &box->status, err);
	if (pid < 0)
		return pid;
	remember(inner, box, &box->init, pid);
	return inner_watch_box(inner, box, err);
}

void boxes_spawn(struct inner *inner, const struct launch_spawn *spawn, int *take_fds,
		 size_t fd_count)
{
	struct err err = {0};
	struct box *box = NULL;

	if (find(inner, spawn->sandbox) != NULL)
		(void)err_set(&err, ERR_CONFLICT, EEXIST, "this sandbox is there already");
	else if (fd_count < 4)
		(void)err_set(&err, ERR_BUSY, EMFILE,
			      "too many files are open for another sandbox");
	if (err.kind != ERR_NONE) {
		inner_tell_err(inner, LAUNCH_GONE, spawn->sandbox, &err);
		return;
	}
	box = box_new(inner, spawn, take_fds, fd_count);
	if (start_shell(inner, box, &err) < 0) {
		boxes_fail(box, &err);
		boxes_finish(inner, box);
		return;
	}
}

void boxes_attach(struct inner *inner, uint32_t id, const int *tasks, size_t count)
{
	struct box *box = find(inner, id);
	struct err err = {0};

	if (box == NULL || box->status < 0)
		return;
	if (count > 0) {
		say_go(box, tasks, count);
		return;
	}
	/* A sandbox without its cgroups must not run. */
	(void)err_set(&err, ERR_BUSY, EMFILE, "too many files are open for another sandbox");
	boxes_fail(box, &err);
}

/* The interpreter is born and waits; its pid stays valid until we reap it. If it must first join v1
 * cgroups, INNER_ATTACH lets it go on. */
static void head_born(struct inner *inner, struct box *box, pid_t pid)
{
	struct launch_event event = {.type = INNER_HEAD_PID, .id = box->id};

	remember(inner, box, &box->head, pid);
	box->phase = BOX_ENTERING;
	for (size_t i = 0; i < ARRAY_LEN(box->fds); i++)
		drop_fd(&box->fds[i]);
	drop_fd(&box->cgroup);
	inner_tell(inner, &event, (int)syscall(SYS_pidfd_open, pid, 0));
	if (inner->input.task_count == 0)
		say_go(box, NULL, 0);
}

static int start_cold(struct inner *inner, struct box *box, int status, struct err *err)
{
	const struct seccomp_kind kind = {.is_measured = inner->input.is_measured != 0,
					  .shown = box->spawn.plan.shown};
	struct walls_input walls = {
		.plan = box->spawn.plan,
		.shell_pidfd = box->init_pidfd,
		.channel = box->fds[3],
		.std = {box->fds[0], box->fds[1], box->fds[2]},
		.landlock_abi = inner->input.landlock_abi,
		.is_measured = inner->input.is_measured,
		.is_shared = inner->input.map.count == 1,
	};
	pid_t pid;

	walls.filter = seccomp_program(&kind, &walls.filter_count);
	pid = zygote_cold(&walls, inner->own_pidns, box->cgroup, status, box->spawn.python, err);
	if (pid < 0)
		return -EAGAIN;
	head_born(inner, box, pid);
	return 0;
}

static int start_warm(struct inner *inner, struct box *box, int status, struct err *err)
{
	struct zygote_fork request = {
		.type = ZYGOTE_FORK, .sandbox = box->id, .plan = box->spawn.plan};
	int fds[ZYGOTE_FD_COUNT] = {
		[ZYGOTE_FD_STDIN] = box->fds[0],     [ZYGOTE_FD_STDOUT] = box->fds[1],
		[ZYGOTE_FD_STDERR] = box->fds[2],    [ZYGOTE_FD_CHANNEL] = box->fds[3],
		[ZYGOTE_FD_SHELL] = box->init_pidfd, [ZYGOTE_FD_STATUS] = status,
		[ZYGOTE_FD_CGROUP] = box->cgroup,
	};
	int zygote = inner->zygotes[box->spawn.zygote];
	ssize_t n;

	if (zygote < 0)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "no zygote %d", box->spawn.zygote);
	n = io_send_fds(zygote, &request, sizeof(request), fds,
			box->cgroup >= 0 ? ZYGOTE_FD_COUNT : ZYGOTE_FD_CGROUP);
	if (n < 0)
		return err_set(err, ERR_INTERNAL, (int)-n, "ask zygote %d", box->spawn.zygote);
	box->phase = BOX_FORKING;
	inner->forking++;
	return 0;
}

/* The shell is up: bring the interpreter in. */
static void shell_stands(struct inner *inner, struct box *box)
{
	struct err err = {0};
	int pair[2];
	int r;

	drop_status(inner, box);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)err_sys(&err, "socketpair");
		boxes_fail(box, &err);
		return;
	}
	box->status = pair[0];
	if (box->spawn.zygote < 0)
		r = start_cold(inner, box, pair[1], &err);
	else
		r = start_warm(inner, box, pair[1], &err);
	(void)close(pair[1]);
	if (r == 0)
		r = inner_watch_box(inner, box, &err);
	if (r < 0)
		boxes_fail(box, &err);
}

/* Reads the shell's report, sent before any other process is in it. From here on the plan names
 * what is shown, which is never less than the client asked for. */
static ssize_t hear_shell(struct box *box, struct err *ret_err)
{
	struct shell_report report = {0};
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	ssize_t n = io_recv_fds(box->status, &report, sizeof(report), fds, &fd_count);

	if (n != (ssize_t)sizeof(report))
		return n < 0 ? n : 0;
	if (report.shown > box->spawn.plan.shown)
		box->spawn.plan.shown = report.shown;
	shown_take(&box->shown, report.shown, fds, fd_count);
	*ret_err = report.err;
	return n;
}

void boxes_status(struct inner *inner, uint32_t id)
{
	struct box *box = find(inner, id);
	struct err err = {0};
	ssize_t n;

	if (box == NULL || box->status < 0)
		return;
	n = box->phase == BOX_SHELL ? hear_shell(box, &err)
				    : recv(box->status, &err, sizeof(err), MSG_DONTWAIT);
	if (n == -EAGAIN || (n < 0 && errno == EAGAIN))
		return;
	if (n > 0 && err.kind != ERR_NONE) {
		err.text[sizeof(err.text) - 1] = '\0';
		drop_status(inner, box);
		boxes_fail(box, &err);
		return;
	}
	if (box->phase == BOX_SHELL && n > 0) {
		shell_stands(inner, box);
		return;
	}

	/* End of file: the shell died, a child was never born, or (the good case) the walls closed
	 * every descriptor but their own. */
	drop_status(inner, box);
	if (box->phase == BOX_ENTERING) {
		box->phase = BOX_RUNNING;
		drop_fd(&box->init_pidfd);
		inner_tell_err(inner, LAUNCH_SPAWNED, box->id, &err);
	} else if (box->phase == BOX_SHELL) {
		(void)err_set(&err, ERR_INTERNAL, ECHILD, "the shell died");
		boxes_fail(box, &err);
	}
}

/* A child may die (its shell was killed) and be reaped before its zygote has reported it. */
static bool take_early(struct inner *inner, pid_t pid, struct box_death *ret_death)
{
	for (size_t i = 0; i < ARRAY_LEN(inner->early); i++) {
		if (inner->early[i].pid == pid) {
			*ret_death = inner->early[i];
			inner->early[i].pid = 0;
			return true;
		}
	}
	return false;
}

/* Once no fork is due, no caller will ask for the early dead, and their pids may be reused. */
static void fork_came(struct inner *inner, struct box *box)
{
	box->phase = BOX_ENTERING;
	if (--inner->forking == 0)
		memset(inner->early, 0, sizeof(inner->early));
}

void boxes_forked(struct inner *inner, uint32_t id, pid_t pid, const struct err *err)
{
	struct box *box = find(inner, id);
	struct box_death death;

	if (box == NULL || box->phase != BOX_FORKING)
		return;
	if (pid > 0) {
		siginfo_t info;
		/* Only the kernel knows: a child that still exists was not reaped, whatever the
		 * ring says. */
		bool is_dead = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
			       errno == ECHILD;

		if (!take_early(inner, pid, &death))
			death = (struct box_death){.pid = pid, .status = SIGKILL};
		fork_came(inner, box);
		head_born(inner, box, pid);
		if (is_dead)
			boxes_reaped(inner, pid, death.status, &death.usage);
		return;
	}
	fork_came(inner, box);
	boxes_fail(box, err);
	boxes_finish(inner, box);
}

void boxes_zygote_down(struct inner *inner, uint32_t zygote)
{
	struct err err = {0};
	struct box *box = LIST_FIRST(&inner->boxes);

	(void)err_set(&err, ERR_INTERNAL, ECHILD, "zygote %u ended", zygote);
	while (box != NULL) {
		struct box *next = LIST_NEXT(box, next);

		if (box->phase == BOX_FORKING && box->spawn.zygote == (int32_t)zygote) {
			fork_came(inner, box);
			boxes_fail(box, &err);
			boxes_finish(inner, box);
		}
		box = next;
	}
}

void boxes_begin(struct inner *inner, uint32_t id)
{
	struct box *box = find(inner, id);

	if (box == NULL)
		return;
	box->is_armed = true;
	box->peak = 0;
}

void boxes_end_run(struct inner *inner, const struct launch_head_ref *ref)
{
	struct launch_event event = {.type = LAUNCH_ENDED, .id = ref->sandbox};
	struct box *box = find(inner, ref->sandbox);

	if (box == NULL)
		return;
	box->is_armed = false;
	event.exit.sandbox = ref->sandbox;
	event.exit.head = ref->head;
	event.exit.peak = box->peak;
	event.exit.memory = box->used;
	inner_tell(inner, &event, -1);
}

void boxes_share(struct inner *inner, uint32_t id)
{
	struct box *box = find(inner, id);

	if (box != NULL)
		box->is_shared = true;
}

void boxes_kill(struct inner *inner, uint32_t id)
{
	struct box *box = find(inner, id);

	if (box == NULL)
		return;
	kill_init(box);
	boxes_finish(inner, box);
}

static void tell_exit(struct inner *inner, const struct box *box, int status,
		      const struct rusage *usage)
{
	struct launch_event event = {.type = LAUNCH_EXIT, .id = box->id};

	event.exit.sandbox = box->id;
	event.exit.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	event.exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	event.exit.peak = box->peak;
	if (inner->input.is_measured && (uint64_t)usage->ru_maxrss * KIB > box->peak)
		event.exit.peak = (uint64_t)usage->ru_maxrss * KIB;
	event.exit.cpu_us = (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
			    (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
	inner_tell(inner, &event, -1);
}

void boxes_reaped(struct inner *inner, pid_t pid, int status, const struct rusage *usage)
{
	struct box_pid *entry = NULL;
	struct box *box = NULL;

	LIST_FOREACH(entry, bucket(inner, pid), next) {
		if (entry->pid == pid)
			box = entry->box;
	}
	if (box == NULL && inner->forking == 0)
		return;
	if (box == NULL) {
		inner->early[inner->early_next++ % ARRAY_LEN(inner->early)] =
			(struct box_death){.pid = pid, .status = status, .usage = *usage};
		return;
	}

	if (box->head.pid == pid) {
		forget(&box->head);
		tell_exit(inner, box, status, usage);
		if (!box->is_shared)
			kill_init(box); /* everything the interpreter left behind ends with init */
	} else {
		struct err err = {0};

		forget(&box->init);
		if (!box->is_dying) {
			(void)err_set(&err, ERR_INTERNAL, ECHILD, "the shell's init died");
			boxes_fail(box, &err);
		}
	}
	boxes_finish(inner, box);
}
