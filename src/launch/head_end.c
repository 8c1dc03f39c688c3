// SPDX-License-Identifier: Apache-2.0
/* How heads end in a sandbox with several of them. */
#include <signal.h>
#include <stdlib.h>

#include <sys/wait.h>

#include "base/c.h"
#include "launch/attach.h"
#include "launch/facts.h"
#include "launch/heads.h"
#include "launch/inner.h"
#include "launch/walk.h"

#define PASSES_FREE 2               /* then the whole sandbox is frozen while the head is ended */
#define ENDING_NS_MAX 2000000000ULL /* then the whole sandbox ends */
#define ENDING_FAST_NS 50000000ULL  /* for this long it is checked every ms */
#define ENDING_SLOW_MS 20
#define STATUS_NS_MAX 200000000ULL /* how long its parent may take to reap it */

/* The state of a head that is ending. */
struct head_end {
	struct launch_exit facts;
	uint64_t since_ns;
	uint32_t passes;
};

void heads_free(struct outer *outer, struct head *head)
{
	facts_disarm(outer, head);
	if (head->end != NULL)
		TAILQ_REMOVE(&outer->ending, head, ending);
	free(STEAL(head->end));
	drop_fd(&head->pidfd);
	for (size_t i = 0; i < LAUNCH_HEAD_FDS_MAX; i++)
		drop_fd(&head->fds[i]);
	head->pid = 0;
	head->is_dead = true;
	if (head == &head->slot->first)
		return;
	LIST_REMOVE(head, next);
	free(head);
}

/* Nothing of the head is left: reports its exit, and ends the sandbox if it was the last head. */
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

	facts_tell_exit(outer, slot, &facts);
	attach_keep_dead(head);
	heads_free(outer, head);
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

/* Has its process ended, and is its status known? A checkpoint that cannot reap it (it is frozen,
 * or user code has broken it) must not delay that for long. */
static void look_for_end(struct head *head)
{
	struct head_end *end = head->end;
	int status = SIGKILL;

	if (head->is_dead || !walk_is_over(head->pidfd))
		return;
	if (walk_status(head->pid, head->pidfd, &status) || end->facts.cause != LAUNCH_CAUSE_SELF)
		note_status(head, status);
	else if (now_ns() - end->since_ns < STATUS_NS_MAX)
		return;
	head->is_dead = true;
	head->pid = 0;
}

/* Checks a head that is ending. Its exit is reported when its process has ended and a complete walk
 * has found no live process that it started. */
static void press(struct outer *outer, struct head *head)
{
	struct slot *slot = head->slot;
	struct err ignored = {0};
	size_t left = walk_kill(outer, head);

	/* The inner half is the first head's parent and reports how it ended. */
	if (head != &slot->first)
		look_for_end(head);
	if (left == 0 && head->is_dead) {
		finish(outer, head);
		return;
	}
	/* Processes are forked faster than they are killed. */
	if (left > 0 && ++head->end->passes > PASSES_FREE && !slot->is_held &&
	    cgroup_freeze(&outer->groups, &slot->group, true, &ignored) == 0)
		slot->is_held = true;
	if (now_ns() - head->end->since_ns > ENDING_NS_MAX)
		facts_end(outer, slot, (enum launch_cause)head->end->facts.cause);
}

/* The kernel killed this very head for memory, so the other running heads are not to blame. */
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

	/* Where the kernel killed a head itself, that head used the memory, and the others may go
	 * on. */
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
	for (size_t i = 0; i < outer->slot_count; i++) {
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
	heads_free(outer, head);
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
		/* The last head's whole sandbox may have ended with it, and other heads in this
		 * list. */
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
