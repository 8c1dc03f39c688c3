// SPDX-License-Identifier: Apache-2.0
/*
 * Log state - what the files of the log share: one run's log, and the table of all
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

/* Where some of the events are: enough that none is far behind one of these. */
struct log_index {
	uint64_t seq;
	struct journal_place place;
};

struct log {
	char id[JOURNAL_ID_SIZE];
	struct logs *logs; /* borrowed: the table it is in */
	uint64_t serial;   /* in the order of the table, never used twice */
	LIST_ENTRY(log) same_hash;
	TAILQ_ENTRY(log) entry;
	LIST_HEAD(, log_reader) readers, telling; /* telling: not told yet of what is new */

	/* Segment 0: there is none. */
	struct journal_place run, note, first, last, pieces;
	uint32_t piece_count;
	uint32_t last_size; /* data bytes of the last event */
	uint64_t seq;       /* of the last event */
	uint64_t marks[3];
	uint64_t begun_us, last_us; /* of the first (or the RUN) and the last event, since 1970 */
	uint64_t start_ns;          /* of the first event, in now_ns() time; 0: not known */

	char *owner;             /* owned: the token that asked, of the head; NULL: none said */
	struct log_index *index; /* owned; by seq */
	uint32_t index_count, index_room;
	bool is_over;
	bool is_held; /* its run waits for a person */
};

LIST_HEAD(log_bucket, log);

struct logs {
	struct journal *journal; /* borrowed */
	uint64_t keep_ms;
	struct log_bucket *buckets; /* owned */
	size_t bucket_count;        /* a power of two */
	size_t count;
	uint64_t serial;       /* of the last one */
	TAILQ_HEAD(, log) all; /* oldest first */
	int64_t clock_ms;      /* wall clock minus time since boot, at the last tick or jump */
	bool has_clock;
	uint32_t segment; /* that the last record went to */
	bool is_saving;   /* save_live is on */
};

/* log.c: a new one in the table; gone for good, its readers told. */
struct log *log_insert(struct logs *logs, const char *id);
void log_forget(struct log *log);

/* log.c: what a record changes, when it is written as when it is replayed. */
void log_take(struct log *log, const struct journal_record *record, struct journal_place place);

/* log.c: its record there; false when there is none, or it is no longer kept. */
bool log_read_at(const struct log *log, struct journal_place place,
		 struct journal_record *ret_record);

/* log_read.c: the index hears of each new event, before log->last does. */
void log_index_add(struct log *log, uint64_t seq, struct journal_place place);

/* log_read.c: every reader is told, once. */
void log_tell(struct log *log);
