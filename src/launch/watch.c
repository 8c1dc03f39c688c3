// SPDX-License-Identifier: Apache-2.0
#include "launch/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "launch/facts.h"
#include "launch/heads.h"
#include "launch/inner.h"
#include "launch/walk.h"

#define REFRESH_NS 1000000000ULL

/*
 * A lock of a range (fcntl) is kernel memory that no group counts, and one process may have any
 * number of them, on one file (RLIMIT_LOCKS has meant nothing since Linux 2.4). A database takes a
 * handful. Between two looks one cpu makes some ten thousand, that is a few megabytes.
 * The other kinds need no look: flock is one per open file, which is counted, and locks of an open
 * file (F_OFD_SETLK) are not in the filter.
 */
#define LOCKS_SEEN_MAX 32768
#define LOCKS_NS 100000000ULL
#define LOCKS_REST_NS 250000000ULL

void watch_refresh(struct outer *outer, const struct slot *slot)
{
	if (slot->is_showing)
		facts_send_inner(outer, INNER_REFRESH, slot_id(outer, slot));
}

/* Is there anything to refresh? Only running code can see names change. */
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
	uint64_t next = UINT64_MAX;
	uint64_t now = now_ns();

	if (has_showing(outer))
		next = outer->refresh_ns;
	/* Processes that a run has left behind can take locks, too. */
	if (outer->locks_ns < next && outer->used_count > 0)
		next = outer->locks_ns;
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (int)((next - now) / 1000000 + 1) : 0;
}

static int compare(const void *left, const void *right)
{
	const pid_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Reads the pid of each lock visible to us, newest first (/proc/locks). Returns how many. */
static size_t read_locks(pid_t *pids, size_t max)
{
	FILE *stream = fopen("/proc/locks", "re");
	char line[256];
	size_t count = 0;

	while (stream != NULL && count < max && fgets(line, sizeof(line), stream) != NULL) {
		int pid = 0;

		/* "1: POSIX  ADVISORY  READ  1234 00:2a:5 0 0"; "->" marks a waiting lock. */
		if (sscanf(line, "%*d: POSIX %*s %*s %d", &pid) == 1 && pid > 0)
			pids[count++] = pid;
	}
	if (stream != NULL)
		(void)fclose(stream);
	return count;
}

static struct slot *slot_of(struct outer *outer, ino_t pidns)
{
	for (size_t i = 0; i < outer->slot_count && pidns != 0; i++) {
		if (outer->slots[i].is_live && outer->slots[i].pidns == pidns)
			return &outer->slots[i];
	}
	return NULL;
}

/* Ends the heads that run; if none runs, the whole sandbox, because a process left behind holds the
 * locks. */
static void end_for_locks(struct outer *outer, struct slot *slot)
{
	struct head *head = NULL;

	TAILQ_FOREACH(head, &outer->ending, ending) {
		if (head->slot == slot)
			return; /* the locks are released with it */
	}
	TAILQ_FOREACH(head, &outer->armed, armed) {
		if (head->slot == slot) {
			heads_end(outer, head, LAUNCH_CAUSE_LOCKS);
			return;
		}
	}
	facts_end(outer, slot, LAUNCH_CAUSE_LOCKS);
}

static void look_at_locks(struct outer *outer)
{
	static pid_t pids[LOCKS_SEEN_MAX];
	size_t count = read_locks(pids, LOCKS_SEEN_MAX);
	size_t next = 0;

	if (count <= PLAN_LOCKS_MAX)
		return;
	qsort(pids, count, sizeof(*pids), compare);
	for (size_t i = 0; i < outer->slot_count; i++)
		outer->slots[i].locks = 0;
	for (size_t i = 0; i < count; i = next) {
		struct slot *slot = slot_of(outer, walk_pidns(pids[i]));

		for (next = i; next < count && pids[next] == pids[i];)
			next++;
		if (slot != NULL)
			slot->locks += (uint32_t)(next - i);
	}
	for (size_t i = 0; i < outer->slot_count; i++) {
		if (outer->slots[i].is_live && outer->slots[i].locks > PLAN_LOCKS_MAX)
			end_for_locks(outer, &outer->slots[i]);
	}
}

void watch_tick(struct outer *outer)
{
	const struct head *head = NULL;
	uint64_t now = now_ns();

	if (now >= outer->locks_ns && outer->used_count > 0) {
		outer->locks_ns = now + (TAILQ_EMPTY(&outer->armed) ? LOCKS_REST_NS : LOCKS_NS);
		look_at_locks(outer);
	}
	if (now < outer->refresh_ns || !has_showing(outer))
		return;
	outer->refresh_ns = now + REFRESH_NS;
	TAILQ_FOREACH(head, &outer->armed, armed)
		watch_refresh(outer, head->slot);
}
