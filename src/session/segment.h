// SPDX-License-Identifier: Apache-2.0
/*
 * Segment - one file of the journal, mapped: a head, then records one after the other
 *
 * Owns:    the layout, the order of writing that makes a kill at any instruction harmless, and the
 *          check that recognises bytes that are not one of our records.
 * May not: know other segments, or what a record means; nor be mapped beyond its file.
 *
 * A record exists once its size is written, which happens last. Before that, the word after the
 * record is cleared, so that remains of a torn record further on are never reached.
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
#define SEGMENT_NEW "new"   /* name of a file that has no head yet */
#define SEGMENT_LOCK "lock" /* locked by the process that uses the folder */
#define SEGMENT_NUMBER_MAX 0xfffffff0U
#define SEGMENT_ALIGN 8U

/* As in the file, in this machine's byte order: with another byte order the magic does not
 * match. */
struct segment_head {
	uint64_t magic;
	uint32_t version;
	uint32_t number;
	uint64_t size; /* of the file */
	uint64_t key;  /* random, so that no output of a run can look like a record */
};

struct segment_record {
	uint32_t size;  /* of this struct and the data; 0: no record here yet */
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
	uint32_t size;    /* of the mapping */
	uint32_t end;     /* offset after the last record */
	bool is_shut;     /* foreign bytes follow `end`: nothing can be appended */
	bool is_writable; /* mapped for writing */
	uint8_t *map;     /* owned; NULL: not mapped */
	int memory;       /* owned: the memfd of a segment that is not on disk; else -1 */
	uint64_t key;
	uint64_t used;   /* when it was last read, in the journal's count */
	uint32_t ready;  /* pages before this can be written to without a fault */
	uint32_t let_go; /* pages before this were handed back to the page cache */
};

/* The check word of `record` at offset `at`, over its whole head except the check itself. */
uint32_t segment_check(uint64_t key, uint32_t at, const struct segment_record *record);

/* Makes a segment of `size` bytes, mapped for writing: in `dir`, with all of its space reserved, or
 * in memory if `dir` is -1. */
int segment_make(int dir, uint32_t number, uint32_t size, struct segment *ret_segment,
		 struct err *err);

/* Opens an existing segment, mapped for reading. Its records are known after segment_scan. -EPROTO
 * if it is not a segment of this version. A segment whose file was truncated is as long as its
 * file. */
int segment_open(int dir, uint32_t number, struct segment *ret_segment, struct err *err);

/* The numbers of all segments in `dir`, in order; the caller frees them. Logs a warning for other
 * names. */
int segment_list(int dir, uint32_t **ret_numbers, size_t *ret_count, struct err *err);

/* Unmaps the segment; one in memory is gone. Accepts a zeroed struct. */
void segment_close(struct segment *segment);

/* Maps the segment again, after segment_unmap. -ENOENT if its file is gone or was truncated. */
int segment_map(int dir, struct segment *segment, bool is_writable, struct err *err);
void segment_unmap(struct segment *segment);

/* Reads the record at offset `at` (mapped). Returns the offset after it, or 0 if there is none. */
uint32_t segment_read(const struct segment *segment, uint32_t at,
		      struct journal_record *ret_record);

/* Gives every record to `call` (may be NULL), oldest first; then `end` is known. False if the file
 * was truncated, or foreign bytes follow: then nothing can be appended. */
bool segment_scan(struct segment *segment,
		  void (*call)(void *user, const struct journal_record *record,
			       struct journal_place place),
		  void *user);

/* Is there room for a record with `size` bytes of data? */
bool segment_has_room(const struct segment *segment, size_t size);

/* Appends a record, for which there must be room, and returns its offset. */
uint32_t segment_append(struct segment *segment, const struct journal_record *record,
			const struct iovec *more, size_t more_count);

/* Gives written pages back to the page cache, so that they no longer count as this process's
 * memory; in steps of so many bytes, a multiple of the page size. */
void segment_let_go(struct segment *segment, uint32_t step);
