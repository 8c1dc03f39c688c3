// SPDX-License-Identifier: Apache-2.0
/*
 * Journal - what must outlive this process, as records in mapped files
 *
 * Owns:    the segments: files of one size in `state_dir/journal`, their space reserved, mapped,
 *          written by appending. A record is there once its size is (the last word written), so a
 *          kill -9 at any instruction leaves whole records and nothing else.
 * May not: know what a record means; nor block: a full disk turns it into memory (journal_why says
 *          so) until a segment can be had again.
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
	JOURNAL_SESSION = 1, /* all that is known of a session: the last one counts */
	JOURNAL_SESSION_END, /* it is no more */
	JOURNAL_RUN,         /* a run was accepted: its request, its code */
	JOURNAL_NOTE,        /* a step in a run's life that no client sees: the last one counts */
	JOURNAL_EVENT,       /* one line of a run's log */
	JOURNAL_PIECE, /* part of a frame whose rest has not come; void after the next EVENT */
};

struct journal;

struct journal_record {
	enum journal_type type;
	char id[JOURNAL_ID_SIZE]; /* of the run or session */
	bool is_last;             /* of an event: its log ends with it */
	uint64_t seq;             /* of an event; of a note: of the last event before it; else 0 */
	uint64_t marks[3];        /* how far its sources were taken: stdout, stderr bytes; frames */
	uint64_t t_us;            /* since 1970; 0 in journal_append: now */
	const void *data;         /* borrowed until the next call of the journal */
	size_t size;
};

struct journal_place {
	uint32_t segment; /* never used twice */
	uint32_t at;
};

/* 0 in a member means its default. */
struct journal_settings {
	size_t segment_size; /* default 16 MiB */
	uint64_t disk_max;   /* of all segments; default 1 GiB; the oldest are dropped above it */
	uint64_t resident;   /* of what was written last, in our own memory; default 1 MiB */
};

/* Opens or makes `dir` (0700) and locks it: one daemon at a time (-EBUSY). Every record that is
 * there is given to `replay`, oldest first. Torn or foreign bytes end their segment, with a warning
 * in the log; they never stop the start. */
int journal_open(const char *dir, const struct journal_settings *settings,
		 void (*replay)(void *user, const struct journal_record *record,
				struct journal_place place),
		 void *user, struct journal **ret_journal, struct err *err);
void journal_close(struct journal *journal);

/* Appends. `record->data` is followed by `more` (may be NULL). Fails only for a record above
 * JOURNAL_RECORD_MAX, or without memory and disk. */
int journal_append(struct journal *journal, const struct journal_record *record,
		   const struct iovec *more, size_t more_count, struct journal_place *ret_place,
		   struct err *err);

/* The record there. -ENOENT when its segment has been dropped. */
int journal_read(struct journal *journal, struct journal_place place,
		 struct journal_record *ret_record, struct err *err);

/* The place behind it; false at the end of what is written. */
bool journal_next(struct journal *journal, struct journal_place *place);

/* Called when a new segment begins, before its first record: whoever keeps state writes it again,
 * so that older segments can go. */
void journal_on_segment(struct journal *journal, void (*begun)(void *user, uint32_t segment),
			void *user);

/* Segments before `segment` are no longer needed: their files go. */
void journal_forget(struct journal *journal, uint32_t segment);

/* The oldest one there, and the bytes of all on disk. */
uint32_t journal_first(const struct journal *journal);
uint64_t journal_disk(const struct journal *journal);

/* Why nothing reaches the disk at the moment; NULL when all is well. */
const struct err *journal_why(const struct journal *journal);
