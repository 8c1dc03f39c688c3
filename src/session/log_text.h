// SPDX-License-Identifier: Apache-2.0
/*
 * Log text - a long text that is made of the lines of logs, a slice at a time
 *
 * Owns:    where in the journal the next bytes are, and how much is done in one turn of the loop.
 * May not: hold a line: between two reads it knows places in the journal, no bytes of it. A client
 *          that does not read costs next to nothing, however long its text is.
 *
 * Two texts are made: the result of a run (log_result.c) and a notebook (log_notebook.c).
 */
#pragma once

#include "session/log.h"
#include "session/members.h"

#define LOG_TEXT_PIECES 6U
#define LOG_TEXT_OUT_MAX (256U << 10) /* made, not copied: heads, numbers, a slice of code */

/* How the bytes of the journal go into the text. */
enum log_text_how {
	LOG_TEXT_COPY,
	LOG_TEXT_QUOTE, /* any bytes, as what stands in a JSON string */
	LOG_TEXT_LINES, /* what stands in a JSON string, as the strings of a list of its lines */
};

/* A part of a record. */
struct log_text_span {
	struct journal_place place;
	size_t at, size;
	enum log_text_how how;
};

struct log_text_piece {
	const char *before; /* static; NULL: nothing */
	struct log_text_span span;
};

/* The line that is being taken apart. */
struct log_text_line {
	struct journal_place place;
	size_t size;
	struct members members; /* stands behind its type */
	char type[16];
};

struct log_text {
	struct logs *logs;        /* borrowed */
	char id[JOURNAL_ID_SIZE]; /* of the log whose records are read */
	struct log_reader reader; /* of its lines */
	struct log_text_line line;
	struct buf out; /* goes before the pieces */
	size_t out_sent;
	struct log_text_piece pieces[LOG_TEXT_PIECES];
	size_t piece_count, piece_next;
	bool is_over, is_broken;

	/* Makes more when nothing is left, with at most about `budget` bytes of work: 0, -ENODATA
	 * at the end, -ENOENT where the journal has dropped what comes next, or another errno. */
	int (*step)(struct log_text *text, size_t *budget);
	void (*free)(struct log_text *text);
};

void log_text_init(struct log_text *text, struct logs *logs);

/* As http.h has it: > 0 a count, 0 nothing yet (read again in another turn), -1 the end, -2 broken
 * off: the journal has dropped the rest. */
int64_t log_text_read(struct log_text *text, void *data, size_t room);

/* All of it. ERR_NOT_FOUND: broken off; ERR_TOO_LARGE. Consumes the text. */
int log_text_whole(struct log_text *take_text, struct buf *buf, struct err *err);

/* Accepts NULL. */
void log_text_free(struct log_text *text);

/* ---- for those who make one ---- */

/* Reads the lines of this log from behind `after` on. */
void log_text_follow(struct log_text *text, struct log *log, uint64_t after);

/* The bytes of a record of the log; NULL when they are gone. Borrowed until the next call. */
const char *log_text_bytes(const struct log_text *text, struct journal_place place,
			   size_t *ret_size);

/* The next line becomes text->line: 0, -ENODATA, -ENOENT. */
int log_text_next_line(struct log_text *text, size_t *budget);

/* The next member of the object of `size` bytes at `base` of the line, with the object's bytes,
 * borrowed until the next call: 1, 0 when the budget is used up, -1 when there is none, -ENOENT. */
int log_text_next_member(struct log_text *text, size_t base, size_t size, struct members *members,
			 const char **ret_bytes, size_t *budget);

/* The value of the member that `members` stands at, of the object at `base` of the line. */
struct log_text_span log_text_value(const struct log_text *text, const struct members *members,
				    size_t base);

/* What stands between the quotes of a string. */
struct log_text_span log_text_inner(struct log_text_span span, enum log_text_how how);

/* Adds a piece: there is always room for those of one step. */
void log_text_put(struct log_text *text, const char *before, const struct log_text_span *span);
