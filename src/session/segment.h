// SPDX-License-Identifier: Apache-2.0
/*
 * Segment - one file of the journal, mapped: a head, then records, one behind the other
 *
 * Owns:    the layout, the order of writing that makes a kill at any instruction harmless, and the
 *          check by which bytes that are no record of ours are known.
 * May not: know other segments, or what a record means; nor be mapped beyond its file.
 *
 * A record is there once its size is, which is written last. Before that the word behind it is
 * cleared, so that whatever a torn record left further on is never reached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

#include "base/err.h"
#include "session/journal.h"

#define SEGMENT_MAGIC 0x4c4e524a56495601ULL
#define SEGMENT_VERSION 1U
#define SEGMENT_NAME "%08x.segment"
#define SEGMENT_NAME_SIZE 20
#define SEGMENT_NEW "new"   /* of a file that has no head yet */
#define SEGMENT_LOCK "lock" /* held by whoever uses the folder */
#define SEGMENT_NUMBER_MAX 0xfffffff0U
#define SEGMENT_ALIGN 8U

/* In the file, in this machine's byte order: another one's magic is not ours. */
struct segment_head {
	uint64_t magic;
	uint32_t version;
	uint32_t number;
	uint64_t size; /* of the file */
	uint64_t key;  /* random: what a run prints can never look like a record */
};

struct segment_record {
	uint32_t size;  /* of this and the data; 0: nothing is here yet */
	uint32_t check; /* segment_check */
	uint16_t type;
	uint16_t is_last;
	uint32_t reserved;
	char id[JOURNAL_ID_SIZE];
	uint64_t seq;
	uint64_t marks[3];
	uint64_t t_us;
};

#define SEGMENT_FIRST ((uint32_t)sizeof(struct segment_head)) /* where the first record is */
#define SEGMENT_ROOM (SEGMENT_FIRST + (uint32_t)sizeof(struct segment_record))

struct segment {
	uint32_t number;
	uint32_t size;    /* of what is or can be mapped */
	uint32_t end;     /* behind the last record */
	bool is_shut;     /* what follows `end` is not ours: nothing can be appended */
	bool is_writable; /* mapped so */
	uint8_t *map;     /* owned; NULL: not mapped */
	int memory;       /* owned: the memfd of one that is not on disk; else -1 */
	uint64_t key;
	uint64_t used;   /* when it was last looked into, in the journal's count */
	uint32_t ready;  /* pages before this can be written to without a fault */
	uint32_t let_go; /* pages before this were handed back to the page cache */
};

/* The check word of `record` at `at`, over all of its head but the check itself. */
uint32_t segment_check(uint64_t key, uint32_t at, const struct segment_record *record);

/* A new one of `size` bytes, mapped for writing: in `dir`, all of its space reserved, or in memory
 * where dir is -1. */
int segment_make(int dir, uint32_t number, uint32_t size, struct segment *ret_segment,
		 struct err *err);

/* One that is there, mapped for reading. Its records are known after segment_scan. -EPROTO when it
 * is no segment of this version. One whose file was cut is as long as its file. */
int segment_open(int dir, uint32_t number, struct segment *ret_segment, struct err *err);

/* The numbers of all segments in `dir`, in order; the caller frees them. Other names are warned of.
 */
int segment_list(int dir, uint32_t **ret_numbers, size_t *ret_count, struct err *err);

/* Unmaps it, and ends it when it is in memory. Accepts a zeroed one. */
void segment_close(struct segment *segment);

/* Maps it again, after segment_unmap. -ENOENT when its file is gone or was cut. */
int segment_map(int dir, struct segment *segment, bool is_writable, struct err *err);
void segment_unmap(struct segment *segment);

/* The record at `at` (mapped): the place behind it, or 0 when there is none. */
uint32_t segment_read(const struct segment *segment, uint32_t at,
		      struct journal_record *ret_record);

/* Gives every record to `call` (may be NULL), oldest first; then its end is known. False when the
 * file was cut, or bytes that are no record follow: nothing can be appended then. */
bool segment_scan(struct segment *segment,
		  void (*call)(void *user, const struct journal_record *record,
			       struct journal_place place),
		  void *user);

/* Is there room for a record with so much data? */
bool segment_has_room(const struct segment *segment, size_t size);

/* Appends (there is room) and returns where. */
uint32_t segment_append(struct segment *segment, const struct journal_record *record,
			const struct iovec *more, size_t more_count);

/* What has been written counts no longer as this process's memory, in steps of so many bytes, whole
 * pages. */
void segment_let_go(struct segment *segment, uint32_t step);
