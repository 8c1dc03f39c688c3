// SPDX-License-Identifier: Apache-2.0
#include "launch/freeze.h"

#include <errno.h>

#include "base/c.h"
#include "launch/facts.h"
#include "launch/walk.h"

#define QUIET_WALKS 3U
#define FREEZE_NS_MAX 2000000000ULL
#define LOOK_MS 2

void freeze_done(struct outer *outer, struct slot *slot)
{
	if (slot->is_waiting)
		TAILQ_REMOVE(&outer->waiting, slot, waiting);
	slot->is_waiting = false;
}

static void tell(struct outer *outer, const struct slot *slot, const struct err *err)
{
	struct launch_event event = {
		.type = LAUNCH_FROZEN, .id = slot_id(outer, slot), .err = *err};

	event.head.sandbox = event.id;
	event.head.head = slot->is_frozen;
	facts_tell(outer, &event, NULL, 0);
}

static void tell_swept(struct outer *outer, const struct slot *slot, size_t left)
{
	struct launch_event event = {.type = LAUNCH_SWEPT, .id = slot_id(outer, slot)};

	event.head.sandbox = event.id;
	event.head.left = left;
	facts_tell(outer, &event, NULL, 0);
}

static bool is_busy(const struct outer *outer, const struct slot *slot)
{
	const struct head *head = NULL;

	TAILQ_FOREACH(head, &outer->armed, armed) {
		if (head->slot == slot)
			return true;
	}
	TAILQ_FOREACH(head, &outer->ending, ending) {
		if (head->slot == slot)
			return true;
	}
	return slot->is_filing;
}

static int set(struct outer *outer, struct slot *slot, bool is_on, struct err *err)
{
	int r;

	if (is_on && is_busy(outer, slot))
		return err_set(err, ERR_CONFLICT, EBUSY, "something runs in the sandbox");
	r = cgroup_freeze(&outer->groups, &slot->group, is_on, err);
	if (r == 0)
		slot->is_frozen = is_on;
	return r;
}

static void wait_for_it(struct outer *outer, struct slot *slot, bool is_swept)
{
	slot->frozen_by_ns = now_ns() + FREEZE_NS_MAX;
	slot->is_waiting = true;
	slot->is_swept = is_swept;
	slot->quiet = 0;
	TAILQ_INSERT_TAIL(&outer->waiting, slot, waiting);
}

void freeze_request(struct outer *outer, const struct launch_head_ref *ref)
{
	struct slot *slot = facts_slot(outer, ref->sandbox);
	struct err err = {0};

	if (slot == NULL || slot->is_told) {
		(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "the sandbox is gone");
		facts_tell_err(outer, LAUNCH_FROZEN, ref->sandbox, &err);
		return;
	}
	freeze_done(outer, slot);
	if (set(outer, slot, ref->head != 0, &err) < 0 || !slot->is_frozen ||
	    cgroup_is_frozen(&outer->groups, &slot->group)) {
		tell(outer, slot, &err);
		return;
	}
	wait_for_it(outer, slot, false);
}

/* Killed processes stay visible until they are dead. One walk over /proc can miss a process that
 * keeps replacing itself by forking; several walks in a row do not. */
static void sweep_on(struct outer *outer, struct slot *slot, bool is_late)
{
	size_t left = walk_left(outer, slot, true);

	slot->quiet = left == 0 ? slot->quiet + 1 : 0;
	if (slot->quiet < QUIET_WALKS && !is_late)
		return;
	freeze_done(outer, slot);
	tell_swept(outer, slot, left);
	if (left > 0)
		facts_end(outer, slot, LAUNCH_CAUSE_ASKED);
}

void freeze_sweep(struct outer *outer, const struct launch_head_ref *ref)
{
	struct slot *slot = facts_slot(outer, ref->sandbox);
	struct err err = {0};

	if (slot == NULL || slot->is_told) {
		(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "the sandbox is gone");
		facts_tell_err(outer, LAUNCH_SWEPT, ref->sandbox, &err);
		return;
	}
	freeze_done(outer, slot);
	if (ref->head == 0) {
		tell_swept(outer, slot, walk_left(outer, slot, false));
		return;
	}
	wait_for_it(outer, slot, true);
	sweep_on(outer, slot, false);
}

void freeze_tick(struct outer *outer)
{
	struct slot *slot = TAILQ_FIRST(&outer->waiting);

	while (slot != NULL) {
		struct slot *next = TAILQ_NEXT(slot, waiting);
		bool is_late = now_ns() >= slot->frozen_by_ns;
		struct err err = {0};

		if (slot->is_swept) {
			sweep_on(outer, slot, is_late);
			slot = next;
			continue;
		}
		/* No longer frozen: BEGIN came in between, and the request was answered then. */
		if (!slot->is_frozen || is_late) {
			(void)set(outer, slot, false, &err);
			(void)err_set(&err, ERR_BUSY, ETIMEDOUT,
				      "the sandbox could not be stopped in time");
		}
		if (err.kind != ERR_NONE || cgroup_is_frozen(&outer->groups, &slot->group)) {
			freeze_done(outer, slot);
			tell(outer, slot, &err);
		}
		slot = next;
	}
}

int freeze_timeout(const struct outer *outer)
{
	return TAILQ_EMPTY(&outer->waiting) ? -1 : LOOK_MS;
}
