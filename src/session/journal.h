// SPDX-License-Identifier: Apache-2.0
/*
 * Journal - what must outlive this process, as records in mapped files
 *
 * Owns:    the segments: files of one size in `state_dir/journal`, with reserved space, mapped,
 *          only appended to. A record exists once its size is written, which is the last word, so a
 *          kill -9 at any instruction leaves only whole records.
 * May not: know what a record means; nor block: while the disk is full, segments are kept in memory
 *          (journal_why says so) until one can be made on disk again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

#include "base/err.h"

#define JOURNAL_ID_SIZE 32 /* an id and its NUL */
#define JOURNAL_RECORD_MAX (20U << 20)

enum journal_type {
	JOURNAL_SESSION = 1, /* everything about a session; the last record counts */
	JOURNAL_SESSION_END, /* the session has ended */
	JOURNAL_RUN,         /* a run was accepted: its request and code */
	JOURNAL_NOTE,  /* a step in a run's life that no client sees; the last record counts */
	JOURNAL_EVENT, /* one line of a run's log */
	JOURNAL_PIECE, /* part of an incomplete frame; void after the next EVENT */
};

struct journal;

struct journal_record {
	enum journal_type type;
	char id[JOURNAL_ID_SIZE]; /* of the run or session */
	bool is_last;             /* of an event: it ends its log */
	uint64_t seq;      /* of an event; for a note, that of the last event before it; else 0 */
	uint64_t marks[3]; /* how much was taken so far: stdout bytes, stderr bytes, frames */
	uint64_t t_us;     /* since 1970; 0 in journal_append: now */
	const void *data;  /* borrowed until the next call of the journal */
	size_t size;
};

struct journal_place {
	uint32_t segment; /* never used twice */
	uint32_t at;
};

/* 0 in a member means its default. */
struct journal_settings {
	size_t segment_size; /* default 16 MiB */
	uint64_t disk_max;   /* of all segments; above it the oldest are dropped; default 1 GiB */
	uint64_t resident;   /* latest bytes that stay mapped in our memory; default 1 MiB */
};

/* Opens or makes `dir` (0700) and locks it: one daemon at a time (-EBUSY). Every existing record is
 * given to `replay`, oldest first. Torn or foreign bytes end their segment, with a warning in the
 * log; they never prevent the start. */
int journal_open(const char *dir, const struct journal_settings *settings,
		 void (*replay)(void *user, const struct journal_record *record,
				struct journal_place place),
		 void *user, struct journal **ret_journal, struct err *err);
void journal_close(struct journal *journal);

/* Appends a record. `record->data` is followed by `more` (may be NULL). Fails only for a record
 * above JOURNAL_RECORD_MAX, or if there is neither disk space nor memory. */
int journal_append(struct journal *journal, const struct journal_record *record,
		   const struct iovec *more, size_t more_count, struct journal_place *ret_place,
		   struct err *err);

/* Reads the record at `place`. -ENOENT if its segment has been dropped. */
int journal_read(struct journal *journal, struct journal_place place,
		 struct journal_record *ret_record, struct err *err);

/* Moves `place` to the next record; false after the last one. */
bool journal_next(struct journal *journal, struct journal_place *place);

/* Sets a callback for the start of a new segment, before its first record: every owner of state
 * writes that state again, so that older segments can be deleted. */
void journal_on_segment(struct journal *journal, void (*begun)(void *user, uint32_t segment),
			void *user);

/* Deletes the segments before `segment`, which are no longer needed. */
void journal_forget(struct journal *journal, uint32_t segment);

/* The oldest segment, and the bytes of all segments on disk. */
uint32_t journal_first(const struct journal *journal);
uint64_t journal_disk(const struct journal *journal);

/* Why records do not reach the disk at the moment; NULL if they do. */
const struct err *journal_why(const struct journal *journal);
