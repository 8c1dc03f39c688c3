// SPDX-License-Identifier: Apache-2.0
#include "launch/heads.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/attach.h"
#include "launch/facts.h"
#include "launch/inner.h"
#include "launch/walk.h"
#include "launch/watch.h"

/* Over what forks while it is ended; it is in the sandbox's pids, and its own harm. */
#define UNDO_PASSES 4

static void tell_head(struct outer *outer, uint32_t type, uint32_t sandbox, uint32_t head,
		      const struct err *err)
{
	struct launch_event event = {.type = type, .id = sandbox, .err = *err};

	event.head.sandbox = sandbox;
	event.head.head = head;
	facts_tell(outer, &event, NULL, 0);
}

struct head *heads_find(struct outer *outer, uint32_t sandbox, uint32_t id)
{
	struct slot *slot = facts_slot(outer, sandbox);
	struct head *head = NULL;

	if (slot == NULL || slot->is_told)
		return NULL;
	if (id == 0)
		return slot->first.end == NULL && !slot->first.is_dead ? &slot->first : NULL;
	LIST_FOREACH(head, &slot->heads, next) {
		if (head->id == id && head->end == NULL)
			return head;
	}
	return NULL;
}

static bool is_taken(const struct slot *slot, uint32_t id)
{
	const struct head *head = NULL;

	LIST_FOREACH(head, &slot->heads, next) {
		if (head->id == id)
			return true;
	}
	return false;
}

static bool runs_beside(const struct head *head)
{
	const struct head *other = NULL;

	if (head != &head->slot->first && head->slot->first.is_armed)
		return true;
	LIST_FOREACH(other, &head->slot->heads, next) {
		if (other != head && other->is_armed)
			return true;
	}
	return false;
}

void heads_begin(struct outer *outer, const struct launch_begin *begin)
{
	struct head *head = heads_find(outer, begin->sandbox, begin->head);
	struct slot *slot = head != NULL ? head->slot : NULL;
	struct launch_request request = {.type = LAUNCH_BEGIN, .begin = *begin};
	struct err ignored = {0};

	if (head == NULL)
		return;
	facts_disarm(outer, head); /* its last run has ended, or it would not begin another */
	if (slot->is_frozen) {
		(void)cgroup_freeze(&outer->groups, &slot->group, false, &ignored);
		slot->is_frozen = false;
	}
	head->end_ns = now_ns() + (uint64_t)begin->timeout_ms * 1000000;
	head->over_ns = 0;
	head->has_run = true;
	head->is_armed = true;
	head->is_parked = false;
	TAILQ_INSERT_TAIL(&outer->armed, head, armed);

	head->oom_before = slot->has_run ? facts_oom_kills(outer, slot) : 0;
	if (!runs_beside(head)) {
		slot->oom_before = head->oom_before;
		if (slot->has_run)
			cgroup_reset_peak(&outer->groups, &slot->group);
		if (outer->hello.limits == LAUNCH_LIMITS_MEASURED)
			link_send(&outer->inner, &request,
				  offsetof(struct launch_request, begin) + sizeof(request.begin),
				  NULL, 0);
	}
	head->cpu_before = facts_cpu(outer, head);
	outer->used_count += !slot->has_run;
	slot->has_run = true;
	watch_refresh(outer, slot);
}

void heads_end_run(struct outer *outer, const struct launch_head_ref *ref)
{
	struct head *head = heads_find(outer, ref->sandbox, ref->head);
	struct launch_event event = {.type = LAUNCH_ENDED, .id = ref->sandbox};
	struct launch_request request = {.type = LAUNCH_END, .ref = *ref};

	if (head == NULL)
		return; /* its EXIT was sent, or is about to be */
	event.exit.code = -1;
	facts_fill(outer, head, &event.exit);
	facts_disarm(outer, head);
	watch_refresh(outer, head->slot);
	if (outer->hello.limits == LAUNCH_LIMITS_MEASURED && !runs_beside(head)) {
		link_send(&outer->inner, &request,
			  offsetof(struct launch_request, ref) + sizeof(request.ref), NULL, 0);
		return;
	}
	facts_tell(outer, &event, NULL, 0);
}

void heads_disarm(struct outer *outer, const struct launch_head_ref *ref)
{
	struct head *head = heads_find(outer, ref->sandbox, ref->head);

	if (head == NULL)
		return;
	facts_disarm(outer, head);
	watch_refresh(outer, head->slot);
}

void heads_ended(struct outer *outer, const struct launch_exit *measured)
{
	struct head *head = heads_find(outer, measured->sandbox, measured->head);
	struct launch_event event = {.type = LAUNCH_ENDED, .id = measured->sandbox};

	if (head == NULL)
		return;
	event.exit = *measured;
	event.exit.code = -1;
	facts_fill(outer, head, &event.exit);
	facts_tell(outer, &event, NULL, 0);
}

/* Sets whom the kernel kills first when memory is short: running heads before checkpoints. */
static void set_oom_order(pid_t pid, const char *value)
{
	struct err ignored = {0};
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	/* An ordinary user may not set this for a process that is not dumpable. */
	(void)io_write_file(AT_FDCWD, path, value, &ignored);
}

/* The head that the new one was forked from; NULL: no such head is possible. */
static struct head *parent_of(struct outer *outer, const struct launch_head *request,
			      struct err *err)
{
	struct head *parent = heads_find(outer, request->sandbox, request->parent);

	if (request->head == 0 || request->head >= LAUNCH_HEADS_MAX || request->pid <= 1)
		(void)err_set(err, ERR_BAD_REQUEST, EINVAL, "head out of range");
	else if (parent == NULL)
		(void)err_set(err, ERR_NOT_FOUND, ENOENT, "the interpreter to fork is gone");
	else if (is_taken(parent->slot, request->head))
		(void)err_set(err, ERR_CONFLICT, EEXIST, "this interpreter is there already");
	else
		return parent;
	return NULL;
}

/* Opens the process and makes sure that it belongs to the sandbox and is not a head yet. */
static int open_process(const struct slot *slot, pid_t pid, int *ret_pidfd, struct err *err)
{
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	const struct head *head = NULL;

	if (pidfd < 0)
		return err_sys(err, "open process %d", pid);
	/* Checked while the pidfd guarantees that the pid is still this process's. */
	if (slot->pidns == 0 || walk_pidns(pid) != slot->pidns || walk_is_over(pidfd))
		return err_set(err, ERR_FORBIDDEN, EPERM, "process %d is not in this sandbox", pid);
	if (slot->first.pid == pid)
		return err_set(err, ERR_CONFLICT, EEXIST, "this interpreter is there already");
	LIST_FOREACH(head, &slot->heads, next) {
		if (head->pid == pid)
			return err_set(err, ERR_CONFLICT, EEXIST,
				       "this interpreter is there already");
	}
	*ret_pidfd = steal_fd(&pidfd);
	return 0;
}

/* From here on the sandbox outlives its first interpreter. */
static int share(struct outer *outer, struct slot *slot, struct err *err)
{
	if (slot->is_shared)
		return 0;
	slot->first.pidfd = (int)syscall(SYS_pidfd_open, slot->first.pid, 0);
	if (slot->first.pidfd < 0)
		return err_sys(err, "open the first head");
	if (walk_pidns(slot->first.pid) != slot->pidns) {
		drop_fd(&slot->first.pidfd);
		return err_set(err, ERR_NOT_FOUND, ESRCH, "the first head is gone");
	}
	slot->is_shared = true;
	slot->group.is_used_up = true;
	cgroup_spare_others(&outer->groups, &slot->group);
	facts_send_inner(outer, INNER_SHARED, slot_id(outer, slot));
	return 0;
}

static int watch(const struct outer *outer, const struct head *head, struct err *err)
{
	/* One-shot: after the first event the timer takes over. */
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLONESHOT,
		.data.u64 = WATCHED(WATCHED_HEAD, slot_id(outer, head->slot), head->id),
	};

	if (epoll_ctl(outer->epoll, EPOLL_CTL_ADD, head->pidfd, &event) < 0)
		return err_sys(err, "watch a head");
	return 0;
}

/* Does the sandbox have any live head that is not a checkpoint? */
static bool is_somebody_live(const struct slot *slot, const struct head *but)
{
	const struct head *head = NULL;

	if (&slot->first != but && !slot->first.is_dead && !slot->first.is_parked &&
	    slot->first.end == NULL)
		return true;
	LIST_FOREACH(head, &slot->heads, next) {
		if (head != but && !head->is_dead && !head->is_parked && !head->is_look &&
		    head->end == NULL)
			return true;
	}
	return false;
}

/* A state continues in its new head. If that is the only live head, the sandbox has returned to
 * this state, so background processes that later runs left belong to an undone past and are ended.
 * The state itself has no processes: children would have blocked the checkpoint. */
static void park(struct outer *outer, struct head *parent, const struct head *child)
{
	set_oom_order(parent->pid, "500");
	if (!parent->is_parked) {
		parent->is_parked = true;
		parent->parked_born = child->born;
		parent->parked_number = child->number;
		return;
	}
	for (int i = 0; i < UNDO_PASSES && !is_somebody_live(parent->slot, child); i++) {
		if (walk_kill_since(outer, parent) == 0)
			break;
	}
}

static int head_new(struct outer *outer, const struct launch_head *request, struct head *parent,
		    int *take_pidfd, int *take_fds, struct err *err)
{
	struct slot *slot = parent->slot;
	struct head *head = NULL;
	int r = share(outer, slot, err);

	if (r < 0)
		return r;
	head = xnew(struct head);
	head->slot = slot;
	head->id = request->head;
	head->pid = request->pid;
	head->number = request->pid;
	head->is_look = request->is_look != 0;
	head->pidfd = steal_fd(take_pidfd);
	for (size_t i = 0; i < LAUNCH_HEAD_FDS_MAX; i++)
		head->fds[i] = steal_fd(&take_fds[i]);
	LIST_INSERT_HEAD(&slot->heads, head, next);
	r = watch(outer, head, err);
	if (r == 0 && !walk_born(head->pid, &head->born))
		r = err_set(err, ERR_NOT_FOUND, ESRCH, "the interpreter is gone");
	if (r < 0) {
		*take_pidfd = steal_fd(&head->pidfd);
		(void)epoll_ctl(outer->epoll, EPOLL_CTL_DEL, *take_pidfd, NULL);
		heads_free(outer, head);
		return r;
	}
	attach_forget_exit(slot, head->id);
	set_oom_order(head->pid, "1000");
	if (!head->is_look)
		park(outer, parent, head);
	return 0;
}

void heads_add(struct outer *outer, const struct launch_head *request, int *take_fds)
{
	struct err err = {0};
	struct head *parent = parent_of(outer, request, &err);
	int pidfd = -1;
	int r = -ENOENT;

	if (parent != NULL)
		r = open_process(parent->slot, request->pid, &pidfd, &err);
	if (r == 0 && take_fds[0] < 0)
		r = err_set(&err, ERR_BUSY, EMFILE, "too many files are open for another sandbox");
	if (r == 0)
		r = head_new(outer, request, parent, &pidfd, take_fds, &err);
	/* A process of the sandbox that is not a head must not run: no head would own it. */
	if (r < 0 && pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	drop_fd(&pidfd);
	tell_head(outer, LAUNCH_HEAD_UP, request->sandbox, request->head, &err);
}

void heads_drop(struct outer *outer, const struct launch_head_ref *ref)
{
	struct head *head = heads_find(outer, ref->sandbox, ref->head);

	if (head != NULL)
		heads_end(outer, head, LAUNCH_CAUSE_ASKED);
}

void heads_signal(struct outer *outer, const struct launch_head_ref *ref)
{
	struct head *head = heads_find(outer, ref->sandbox, ref->head);
	AUTO_CLOSE int opened = -1;
	struct err err = {0};
	int pidfd = head != NULL ? head->pidfd : -1;

	if (head != NULL && pidfd < 0 && head->pid > 0) {
		opened = (int)syscall(SYS_pidfd_open, head->pid, 0);
		if (walk_pidns(head->pid) == head->slot->pidns)
			pidfd = opened;
	}
	if (pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, SIGINT, NULL, 0) < 0)
		(void)err_set(&err, ERR_NOT_FOUND, ESRCH, "the interpreter is gone");
	tell_head(outer, LAUNCH_SIGNALLED, ref->sandbox, ref->head, &err);
}
