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

#define PASSES_FREE 2               /* then all of the sandbox is stopped while the head is ended */
#define ENDING_NS_MAX 2000000000ULL /* then the whole sandbox ends */
#define ENDING_FAST_NS 50000000ULL  /* so long looked after every ms */
#define ENDING_SLOW_MS 20

/* A head in its end. */
struct head_end {
	struct launch_exit facts;
	uint64_t since_ns;
	uint32_t passes;
};

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

	if (head == NULL || head->is_armed)
		return;
	if (slot->is_frozen) {
		(void)cgroup_freeze(&outer->groups, &slot->group, false, &ignored);
		slot->is_frozen = false;
	}
	head->end_ns = now_ns() + (uint64_t)begin->timeout_ms * 1000000;
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
	slot->has_run = true;
}

void heads_end_run(struct outer *outer, const struct launch_head_ref *ref)
{
	struct head *head = heads_find(outer, ref->sandbox, ref->head);
	struct launch_event event = {.type = LAUNCH_ENDED, .id = ref->sandbox};
	struct launch_request request = {.type = LAUNCH_END, .ref = *ref};

	if (head == NULL)
		return; /* its EXIT was told, or is about to be */
	event.exit.code = -1;
	facts_fill(outer, head, &event.exit);
	facts_disarm(outer, head);
	if (outer->hello.limits == LAUNCH_LIMITS_MEASURED && !runs_beside(head)) {
		link_send(&outer->inner, &request,
			  offsetof(struct launch_request, ref) + sizeof(request.ref), NULL, 0);
		return;
	}
	facts_tell(outer, &event, NULL, 0);
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

/* Who is looked for first when memory is short: what runs, before what is kept to go back to. */
static void set_oom_order(pid_t pid, const char *value)
{
	struct err ignored = {0};
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	/* An ordinary user may not say it of a process that nobody may look into. */
	(void)io_write_file(AT_FDCWD, path, value, &ignored);
}

static int check_head(struct outer *outer, const struct launch_head *request,
		      struct slot **ret_slot, struct head **ret_parent, struct err *err)
{
	struct slot *slot = facts_slot(outer, request->sandbox);
	struct head *parent = heads_find(outer, request->sandbox, request->parent);

	if (request->head == 0 || request->head >= LAUNCH_HEADS_MAX || request->pid <= 1)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "head out of range");
	if (slot == NULL || parent == NULL)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "no head %u in sandbox %u",
			       request->parent, request->sandbox);
	if (is_taken(slot, request->head))
		return err_set(err, ERR_CONFLICT, EEXIST, "head %u is there", request->head);
	*ret_slot = slot;
	*ret_parent = parent;
	return 0;
}

/* Opens the process and makes sure that it is one of the sandbox's, and nobody's yet. */
static int open_process(const struct slot *slot, pid_t pid, int *ret_pidfd, struct err *err)
{
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	const struct head *head = NULL;

	if (pidfd < 0)
		return err_sys(err, "open process %d", pid);
	/* Looked at while the pidfd says that the number is still this process's. */
	if (slot->pidns == 0 || walk_pidns(pid) != slot->pidns || walk_is_over(pidfd))
		return err_set(err, ERR_FORBIDDEN, EPERM, "process %d is not in this sandbox", pid);
	if (slot->first.pid == pid)
		return err_set(err, ERR_CONFLICT, EEXIST, "process %d is head 0", pid);
	LIST_FOREACH(head, &slot->heads, next) {
		if (head->pid == pid)
			return err_set(err, ERR_CONFLICT, EEXIST, "process %d is head %u", pid,
				       head->id);
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
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u64 = WATCHED(WATCHED_HEAD, slot_id(outer, head->slot), head->id),
	};

	if (epoll_ctl(outer->epoll, EPOLL_CTL_ADD, head->pidfd, &event) < 0)
		return err_sys(err, "watch a head");
	return 0;
}

static void head_free(struct outer *outer, struct head *head)
{
	facts_disarm(outer, head);
	if (head->end != NULL)
		TAILQ_REMOVE(&outer->ending, head, ending);
	free(STEAL(head->end));
	drop_fd(&head->pidfd);
	drop_fd(&head->channel);
	head->pid = 0;
	head->is_dead = true;
	if (head == &head->slot->first)
		return;
	LIST_REMOVE(head, next);
	free(head);
}

static int head_new(struct outer *outer, const struct launch_head *request, int *take_pidfd,
		    int *take_channel, struct err *err)
{
	struct head *parent = heads_find(outer, request->sandbox, request->parent);
	struct slot *slot = parent->slot;
	struct head *head = NULL;
	int r = share(outer, slot, err);

	if (r < 0)
		return r;
	head = xnew(struct head);
	head->slot = slot;
	head->id = request->head;
	head->pid = request->pid;
	head->is_look = request->is_look != 0;
	head->pidfd = steal_fd(take_pidfd);
	head->channel = steal_fd(take_channel);
	LIST_INSERT_HEAD(&slot->heads, head, next);
	r = watch(outer, head, err);
	if (r == 0 && !walk_born(head->pid, &head->born))
		r = err_set(err, ERR_NOT_FOUND, ESRCH, "head %u is gone", head->id);
	if (r < 0) {
		*take_pidfd = steal_fd(&head->pidfd);
		(void)epoll_ctl(outer->epoll, EPOLL_CTL_DEL, *take_pidfd, NULL);
		head_free(outer, head);
		return r;
	}
	attach_forget_exit(slot, head->id);
	set_oom_order(head->pid, "1000");
	if (!head->is_look) {
		set_oom_order(parent->pid, "500");
		parent->is_parked = true;
	}
	return 0;
}

void heads_add(struct outer *outer, const struct launch_head *request, int *take_channel)
{
	struct slot *slot = NULL;
	struct head *parent = NULL;
	struct err err = {0};
	int pidfd = -1;
	int r = check_head(outer, request, &slot, &parent, &err);

	if (r == 0)
		r = open_process(slot, request->pid, &pidfd, &err);
	if (r == 0 && *take_channel < 0)
		r = err_set(&err, ERR_BUSY, EMFILE, "viv-launch cannot take more descriptors");
	if (r == 0)
		r = head_new(outer, request, &pidfd, take_channel, &err);
	/* One of the sandbox's that is no head must not run: it would be nobody's. */
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
		(void)err_set(&err, ERR_NOT_FOUND, ESRCH, "no head %u in sandbox %u", ref->head,
			      ref->sandbox);
	tell_head(outer, LAUNCH_SIGNALLED, ref->sandbox, ref->head, &err);
}

/* Nothing of it is left: the last word on it, and the end of the sandbox when it was the last. */
static void finish(struct outer *outer, struct head *head)
{
	struct slot *slot = head->slot;
	struct launch_exit facts = head->end->facts;
	struct launch_request request = {
		.type = INNER_UNSAVE,
		.ref = {.sandbox = slot_id(outer, slot), .head = head->id},
	};
	struct err ignored = {0};
	const struct head *other = NULL;
	bool is_held = false;

	head_free(outer, head);
	facts_tell_exit(outer, slot, &facts);
	if (slot->has_saved)
		link_send(&outer->inner, &request,
			  offsetof(struct launch_request, ref) + sizeof(request.ref), NULL, 0);
	TAILQ_FOREACH(other, &outer->ending, ending)
		is_held |= other->slot == slot;
	if (slot->is_held && !is_held) {
		slot->is_held = false;
		if (!slot->is_frozen)
			(void)cgroup_freeze(&outer->groups, &slot->group, false, &ignored);
	}
	if (slot->first.is_dead && LIST_EMPTY(&slot->heads))
		facts_end(outer, slot, LAUNCH_CAUSE_SELF);
}

static void note_status(struct head *head, int status)
{
	struct launch_exit *facts = &head->end->facts;

	facts->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	facts->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* One look at a head that is ending. It is told when its process is over and a whole look has
 * found nothing that lives of what it started. */
static void press(struct outer *outer, struct head *head)
{
	struct slot *slot = head->slot;
	struct err ignored = {0};
	size_t left = walk_kill(outer, head);
	int status = 0;

	if (head != &slot->first && !head->is_dead && walk_is_over(head->pidfd)) {
		if (walk_status(head->pid, head->pidfd, &status))
			note_status(head, status);
		(void)epoll_ctl(outer->epoll, EPOLL_CTL_DEL, head->pidfd, NULL);
		head->is_dead = true;
		head->pid = 0;
	}
	if (left == 0 && head->is_dead) {
		finish(outer, head);
		return;
	}
	/* Something is forking faster than it is killed. */
	if (left > 0 && ++head->end->passes > PASSES_FREE && !slot->is_held &&
	    cgroup_freeze(&outer->groups, &slot->group, true, &ignored) == 0)
		slot->is_held = true;
	if (now_ns() - head->end->since_ns > ENDING_NS_MAX)
		facts_end(outer, slot, (enum launch_cause)head->end->facts.cause);
}

/* The kernel took this very head for memory: it is not the doing of others that run beside it. */
static void clear_others(struct outer *outer, const struct head *head, uint64_t oom_kills)
{
	struct head *other = NULL;

	TAILQ_FOREACH(other, &outer->armed, armed) {
		if (other != head && other->slot == head->slot)
			other->oom_before = oom_kills;
	}
}

static void start_end(struct outer *outer, struct head *head, const struct launch_exit *facts)
{
	head->end = xnew(struct head_end);
	head->end->since_ns = now_ns();
	head->end->facts = *facts;
	facts_fill(outer, head, &head->end->facts);
	if (head->is_armed && head->end->facts.oom_kills > 0 && walk_is_over(head->pidfd))
		clear_others(outer, head, head->oom_before + head->end->facts.oom_kills);
	facts_disarm(outer, head);
	TAILQ_INSERT_TAIL(&outer->ending, head, ending);
	press(outer, head);
}

void heads_end(struct outer *outer, struct head *head, enum launch_cause cause)
{
	struct launch_exit facts = {.cause = cause, .code = -1};

	if (!head->slot->is_shared)
		facts_end(outer, head->slot, cause);
	else if (head->end == NULL)
		start_end(outer, head, &facts);
}

void heads_first_over(struct outer *outer, struct slot *slot, const struct launch_exit *facts)
{
	struct head *head = &slot->first;

	if (head->is_dead)
		return;
	head->is_dead = true;
	head->pid = 0;
	if (head->end == NULL) {
		start_end(outer, head, facts);
		return;
	}
	head->end->facts.code = facts->code;
	head->end->facts.signal = facts->signal;
	press(outer, head);
}

void heads_over(struct outer *outer, uint32_t sandbox, uint32_t id)
{
	struct slot *slot = facts_slot(outer, sandbox);
	struct head *head = NULL;

	if (slot == NULL)
		return;
	LIST_FOREACH(head, &slot->heads, next) {
		if (head->id == id)
			break;
	}
	if (head == NULL || !walk_is_over(head->pidfd))
		return;
	if (head->end != NULL)
		press(outer, head);
	else
		heads_end(outer, head, LAUNCH_CAUSE_SELF);
}

void heads_oom(struct outer *outer, struct slot *slot)
{
	struct head *head = NULL;
	struct head *next = NULL;

	/* Where a head itself was taken, it was that one's doing, and the others may go on. */
	TAILQ_FOREACH(head, &outer->armed, armed) {
		if (head->slot == slot && walk_is_over(head->pidfd)) {
			heads_end(outer, head, LAUNCH_CAUSE_SELF);
			return;
		}
	}
	for (head = TAILQ_FIRST(&outer->armed); head != NULL; head = next) {
		next = TAILQ_NEXT(head, armed);
		if (head->slot == slot)
			heads_end(outer, head, LAUNCH_CAUSE_SELF);
	}
}

void heads_above(struct outer *outer, struct slot *slot, uint64_t peak)
{
	struct launch_exit facts = {.cause = LAUNCH_CAUSE_MEMORY, .code = -1, .peak = peak};
	struct head *largest = NULL;
	struct head *head = NULL;
	uint64_t most = 0;

	TAILQ_FOREACH(head, &outer->armed, armed) {
		uint64_t size = head->slot == slot ? facts_resident(head->pid) + 1 : 0;

		if (size > most) {
			most = size;
			largest = head;
		}
	}
	if (largest == NULL)
		return;
	start_end(outer, largest, &facts);
}

void heads_end_looks(struct outer *outer)
{
	for (size_t i = 0; i < LAUNCH_SANDBOXES_MAX; i++) {
		struct head *head = LIST_FIRST(&outer->slots[i].heads);

		while (outer->slots[i].is_live && head != NULL) {
			struct head *next = LIST_NEXT(head, next);

			if (head->is_look)
				heads_end(outer, head, LAUNCH_CAUSE_ASKED);
			head = next;
		}
	}
}

static void tell_left(struct outer *outer, struct head *head, enum launch_cause cause)
{
	struct slot *slot = head->slot;
	struct launch_exit facts = {.cause = cause, .code = -1};

	if (head->end != NULL)
		facts = head->end->facts;
	else
		facts_fill(outer, head, &facts);
	head_free(outer, head);
	facts_tell_exit(outer, slot, &facts);
}

void heads_end_all(struct outer *outer, struct slot *slot, enum launch_cause cause)
{
	if (!slot->is_shared)
		return;
	while (!LIST_EMPTY(&slot->heads))
		tell_left(outer, LIST_FIRST(&slot->heads), cause);
	if (!slot->first.is_dead || slot->first.end != NULL)
		tell_left(outer, &slot->first, cause);
	slot->is_told = true;
}

void heads_tick(struct outer *outer)
{
	struct head *head = TAILQ_FIRST(&outer->ending);

	while (head != NULL) {
		struct head *next = TAILQ_NEXT(head, ending);
		struct slot *slot = head->slot;

		press(outer, head);
		/* With the last head its whole sandbox may have gone, and others in this list. */
		head = slot->is_told ? TAILQ_FIRST(&outer->ending) : next;
	}
}

int heads_timeout(const struct outer *outer)
{
	const struct head *head = NULL;
	uint64_t now = now_ns();
	int timeout = -1;

	TAILQ_FOREACH(head, &outer->ending, ending) {
		if (now - head->end->since_ns < ENDING_FAST_NS)
			return 1;
		timeout = ENDING_SLOW_MS;
	}
	return timeout;
}
