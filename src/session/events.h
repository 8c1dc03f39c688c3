// SPDX-License-Identifier: Apache-2.0
/*
 * Events - the numbered facts of a run, kept in memory under a cap
 *
 * Owns:    the text of each event (one JSON object per line, ASCII only), their numbers, and the
 *          list of subscribers. The first event is `started`, the last `verdict`.
 * May not: look into an event: its members are text that the caller has checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"

#define EVENTS_KEEP_DEFAULT (1U << 20) /* bytes of text kept for later readers */

/* A subscriber, called at once for each event: `text` is the whole line without its newline. */
struct events_sink {
	void (*event)(void *user, uint64_t seq, const char *text, size_t size);
	void *user;
	LIST_ENTRY(events_sink) entry;
};

struct events {
	uint64_t seq;       /* of the last event */
	uint64_t first_seq; /* of the first event still kept */
	uint64_t start_ns;
	bool is_over;
	bool is_cut;     /* early events were dropped to stay under the cap */
	struct buf text; /* lines, oldest first */
	LIST_HEAD(, events_sink) sinks;
};

void events_init(struct events *events, size_t keep);
void events_done(struct events *events);

void events_subscribe(struct events *events, struct events_sink *sink);
void events_unsubscribe(struct events_sink *sink);

/* Adds {"seq":N,"t_ms":T,"type":"<type>"<members>}. `members` is "" or starts with a comma. */
int events_add(struct events *events, const char *type, const void *members, size_t size);

/* The kept line that follows event number `after`; false if there is none (yet). */
bool events_next(const struct events *events, uint64_t after, uint64_t *ret_seq,
		 const char **ret_text, size_t *ret_size);
