// SPDX-License-Identifier: Apache-2.0
#include "launch/watch.h"

#include "base/c.h"
#include "launch/facts.h"
#include "launch/inner.h"

#define REFRESH_NS 1000000000ULL

void watch_refresh(struct outer *outer, const struct slot *slot)
{
	if (slot->is_showing)
		facts_send_inner(outer, INNER_REFRESH, slot_id(outer, slot));
}

/* Is there anything to look at? Only code that runs sees names change. */
static bool has_showing(const struct outer *outer)
{
	const struct head *head = NULL;

	TAILQ_FOREACH(head, &outer->armed, armed) {
		if (head->slot->is_showing)
			return true;
	}
	return false;
}

int watch_timeout(const struct outer *outer)
{
	uint64_t now = now_ns();

	if (!has_showing(outer))
		return -1;
	return outer->refresh_ns > now ? (int)((outer->refresh_ns - now) / 1000000 + 1) : 0;
}

void watch_tick(struct outer *outer)
{
	const struct head *head = NULL;
	uint64_t now = now_ns();

	if (now < outer->refresh_ns || !has_showing(outer))
		return;
	outer->refresh_ns = now + REFRESH_NS;
	TAILQ_FOREACH(head, &outer->armed, armed)
		watch_refresh(outer, head->slot);
}
