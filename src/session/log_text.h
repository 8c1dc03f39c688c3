// SPDX-License-Identifier: Apache-2.0
/*
 * Log text - a long text made from the lines of logs, a slice at a time
 *
 * Owns:    the position of the next bytes in the journal, and how much is done in one turn of the
 *          loop.
 * May not: hold a line: between two reads it has positions in the journal, but no bytes of it. A
 *          client that does not read costs next to nothing, however long its text is.
 *
 * Two texts are made: the result of a run (log_result.c) and a notebook (log_notebook.c).
 */
#pragma once

#include "session/log.h"
#include "session/members.h"

#define LOG_TEXT_PIECES 6U
#define LOG_TEXT_OUT_MAX (256U << 10) /* generated text: heads, numbers, a slice of code */

/* How bytes of the journal are turned into text. */
enum log_text_how {
	LOG_TEXT_COPY,
	LOG_TEXT_QUOTE, /* any bytes, escaped for the inside of a JSON string */
	LOG_TEXT_LINES, /* the inside of a JSON string, turned into a list of its lines */
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

/* The line that is being parsed. */
struct log_text_line {
	struct journal_place place;
	size_t size;
	struct members members; /* positioned after the member "type" */
	char type[16];
};

struct log_text {
	struct logs *logs;        /* borrowed */
	char id[JOURNAL_ID_SIZE]; /* of the log whose records are read */
	struct log_reader reader; /* of its lines */
	struct log_text_line line;
	struct buf out; /* sent before the pieces */
	size_t out_sent;
	struct log_text_piece pieces[LOG_TEXT_PIECES];
	size_t piece_count, piece_next;
	size_t sent; /* bytes that were read of the text so far */
	bool is_over, is_broken;

	/* Makes more text when nothing is left, with about `budget` bytes of work at most. Returns
	 * 0, -ENODATA at the end, -ENOENT if the journal has dropped what comes next, or another
	 * errno. */
	int (*step)(struct log_text *text, size_t *budget);
	void (*free)(struct log_text *text);
};

void log_text_init(struct log_text *text, struct logs *logs);

/* Reads like the bodies of http.h: > 0 a count, 0 nothing yet (read again in another turn), -1 the
 * end, -2 broken off: the journal has dropped the rest. */
int64_t log_text_read(struct log_text *text, void *data, size_t room);

/* Reads all of the text. ERR_NOT_FOUND: broken off; ERR_TOO_LARGE. */
int log_text_whole(struct log_text *text, struct buf *buf, struct err *err);

/* Accepts NULL. */
void log_text_free(struct log_text *text);

/* ---- for the makers of texts ---- */

/* Reads the lines of this log that follow event `after`. */
void log_text_follow(struct log_text *text, struct log *log, uint64_t after);

/* The bytes of a record of the log; NULL if they were dropped. Borrowed until the next call. */
const char *log_text_bytes(const struct log_text *text, struct journal_place place,
			   size_t *ret_size);

/* Makes the next line text->line. Returns 0, -ENODATA or -ENOENT. */
int log_text_next_line(struct log_text *text, size_t *budget);

/* Finds the next member of the object of `size` bytes at offset `base` of the line; `ret_bytes` are
 * the object's bytes, borrowed until the next call. Returns 1, 0 if the budget is used up, -1 if
 * there is no other member, -ENOENT. */
int log_text_next_member(struct log_text *text, size_t base, size_t size, struct members *members,
			 const char **ret_bytes, size_t *budget);

/* The value of the current member of `members`, in the object at offset `base` of the line. */
struct log_text_span log_text_value(const struct log_text *text, const struct members *members,
				    size_t base);

/* The part of a string between its quotes. */
struct log_text_span log_text_inner(struct log_text_span span, enum log_text_how how);

/* Adds a piece. There is always room for the pieces of one step. */
void log_text_put(struct log_text *text, const char *before, const struct log_text_span *span);
