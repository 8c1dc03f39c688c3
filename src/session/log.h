// SPDX-License-Identifier: Apache-2.0
/*
 * Log - the numbered events of every run, for as long as they are kept
 *
 * Owns:    the table of run logs, where their events lie in the journal, who waits for more, and
 *          when a log is old enough to be forgotten.
 * May not: hold texts in memory: they are the journal's. A reader that stalls costs nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/journal.h"

struct logs;
struct log; /* of one run */

/* Told when a log has grown or ended. */
struct log_reader {
	struct log *log; /* borrowed; NULL when the log was forgotten */
	uint64_t after;  /* number of the last event read */
	struct journal_place place;
	void (*ready)(void *user);
	void *user;
	LIST_ENTRY(log_reader) entry;
};

/* `journal` is borrowed until logs_free. It may be NULL while it is opened: logs_attach follows. */
struct logs *logs_new(struct journal *journal, uint64_t keep_ms);
void logs_attach(struct logs *logs, struct journal *journal);

/* Readers that are still open are left without a log. */
void logs_free(struct logs *logs);

/* While the journal is opened: RUN, NOTE, EVENT and PIECE records rebuild the table; others are
 * not looked at. */
void logs_replay(struct logs *logs, const struct journal_record *record,
		 struct journal_place place);

/* A new log. `head` is the JSON object that describes the run (who, session, policy, limits ...),
 * kept with the log; `code` its source, for the notebook export. The result takes "session" from
 * the head, and "backend" and "runtime" as long as no `started` has said them; the notebook
 * "session", and whether "command" is true. "token" is the owner's name. */
int logs_add(struct logs *logs, const char *id, const char *head, size_t head_size,
	     const void *code, size_t code_size, struct log **ret_log, struct err *err);

/* By id; NULL when there is none. */
struct log *logs_find(struct logs *logs, const char *id);

/* Every log, oldest first. */
void logs_each(struct logs *logs, void (*each)(void *user, struct log *log), void *user);

/* Forgets what is over and older than keep_ms, and lets the journal drop segments; `floor` is the
 * oldest segment that somebody else (sessions) still needs. Call it every few seconds. */
void logs_tick(struct logs *logs, uint64_t now_ms, uint32_t floor);

const char *log_id(const struct log *log);
bool log_is_over(const struct log *log);
void log_set_held(struct log *log, bool is_held); /* then the result's state says so */
bool log_is_held(const struct log *log);
uint64_t log_seq(const struct log *log); /* of the last event */
uint64_t log_begun_ms(const struct log *log);
uint64_t log_marks(const struct log *log, size_t which);

/* Whose run it is: "token" of the head; NULL when the journal dropped it. Borrowed until the log is
 * forgotten or written to. */
const char *log_owner(const struct log *log);

/* Its head and code as given to logs_add; false when the journal dropped them. Borrowed until the
 * next call. */
bool log_head(const struct log *log, const char **ret_head, size_t *ret_size);
bool log_code(const struct log *log, const char **ret_code, size_t *ret_size);

/* The last NOTE: a JSON object of whoever runs it; "" when there is none. */
int log_note(struct log *log, const char *note, size_t size, struct err *err);
bool log_last_note(const struct log *log, const char **ret_note, size_t *ret_size);

/* Adds the line {"seq":N,"t_ms":T,"type":"<type>"<members>}; `members` is "" or starts with a
 * comma; `marks` say how far the sources were taken with it (NULL: as before). `is_last` ends the
 * log: readers are told, nothing can follow. */
int log_add(struct log *log, const char *type, const void *members, size_t size,
	    const uint64_t marks[3], bool is_last, struct err *err);

/* A part of a frame, kept until the event it belongs to; log_pieces appends all of them. */
int log_piece(struct log *log, const void *data, size_t size, const uint64_t marks[3],
	      struct err *err);
int log_pieces(const struct log *log, struct buf *buf);

/* From behind `after` on. `ready` is called from log_add whenever there may be more; any reader may
 * be closed in it, no log forgotten. */
void log_reader_open(struct log_reader *reader, struct log *log, uint64_t after,
		     void (*ready)(void *user), void *user);
void log_reader_close(struct log_reader *reader);

/* The next line without its newline: 1, 0 when there is none yet, -ENODATA at the end (a log that
 * is over, or was forgotten), -ENOENT when the journal has dropped what comes next. */
int log_reader_next(struct log_reader *reader, const char **ret_text, size_t *ret_size);

/* The result (contracts: native, 2.2) put together from the lines, as they are now; "verdict" is
 * null while the run goes on. Its text is read by log_text.h, or taken whole. */
struct log_text;
int log_result_open(struct log *log, struct log_text **ret_text, struct err *err);
int log_result(struct log *log, struct buf *buf, struct err *err);

/* The runs of `session` as a notebook (nbformat 4.5), oldest first; `name` may be NULL. */
struct log_text *logs_notebook_open(struct logs *logs, const char *session, const char *name);
