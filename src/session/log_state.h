// SPDX-License-Identifier: Apache-2.0
/*
 * Log state - the structs of the log, for those who make results and notebooks of it
 *
 * Owns:    the structs. A log that is over and short takes no more than its struct.
 * May not: be included by anybody else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>

#include "session/journal.h"
#include "session/log.h"

/* Where some of the events are: enough that every event is close behind an indexed one. */
struct log_index {
	uint64_t seq;
	struct journal_place place;
};

struct log {
	char id[JOURNAL_ID_SIZE];
	struct logs *logs; /* borrowed: the table that the log is in */
	uint64_t serial;   /* in the order of the table, never used twice */
	LIST_ENTRY(log) same_hash;
	TAILQ_ENTRY(log) entry;
	LIST_HEAD(, log_reader)
	readers, telling; /* telling: those that were not told yet of the newest event */

	/* Segment 0: there is none. */
	struct journal_place run, note, first, last, pieces;
	uint32_t piece_count;
	uint32_t last_size; /* data bytes of the last event */
	uint64_t seq;       /* of the last event */
	uint64_t marks[3];
	uint64_t begun_us, last_us; /* of the first event (or of the RUN record) and the last event,
				       since 1970 */
	uint64_t start_ns;          /* of the first event, in now_ns() time; 0: not known */

	char *owner;             /* owned: the token, from the run's head; NULL: none given */
	struct log_index *index; /* owned; by seq */
	uint32_t index_count, index_room;
	bool is_over;
	bool is_held; /* its run waits for a person's permission */
};

LIST_HEAD(log_bucket, log);

struct logs {
	struct journal *journal; /* borrowed */
	uint64_t keep_ms;
	struct log_bucket *buckets; /* owned */
	size_t bucket_count;        /* a power of two */
	size_t count;
	uint64_t serial;       /* of the last log */
	TAILQ_HEAD(, log) all; /* oldest first */
	int64_t clock_ms; /* wall clock minus time since boot, at the last tick or clock jump */
	bool has_clock;
	uint32_t segment; /* segment of the last record */
	bool is_saving;   /* save_live is running */
};
