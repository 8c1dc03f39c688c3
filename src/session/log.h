// SPDX-License-Identifier: Apache-2.0
/*
 * Log - the numbered events of every run, for as long as they are kept
 *
 * Owns:    the table of run logs, where their events are in the journal, their readers, and when a
 *          log is old enough to be forgotten.
 * May not: hold texts in memory: they are in the journal. A reader that stalls costs nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/journal.h"
#include "session/result.h"

struct logs;
struct log; /* of one run */

/* `ready` is called when a log has grown or ended. */
struct log_reader {
	struct log *log; /* borrowed; NULL when the log was forgotten */
	uint64_t after;  /* number of the last event read */
	struct journal_place place;
	void (*ready)(void *user);
	void *user;
	LIST_ENTRY(log_reader) entry;
};

/* `journal` is borrowed until logs_free. It may be NULL while the journal is being opened;
 * logs_attach follows. */
struct logs *logs_new(struct journal *journal, uint64_t keep_ms);
void logs_attach(struct logs *logs, struct journal *journal);

/* Readers that are still open lose their log. */
void logs_free(struct logs *logs);

/* Takes one record while the journal is being opened: RUN, NOTE, EVENT and PIECE records rebuild
 * the table; others are ignored. */
void logs_replay(struct logs *logs, const struct journal_record *record,
		 struct journal_place place);

/* Adds a log. `head` is the JSON object that describes the run, kept with the log; `code` is its
 * source, for the notebook export. */
int logs_add(struct logs *logs, const char *id, const char *head, size_t head_size,
	     const void *code, size_t code_size, struct log **ret_log, struct err *err);

/* Finds a log by id; NULL if there is none. */
struct log *logs_find(struct logs *logs, const char *id);

/* Calls `each` for every log, oldest first. */
void logs_each(struct logs *logs, void (*each)(void *user, struct log *log), void *user);

/* Forgets logs that are over and older than keep_ms, and lets the journal drop segments; `floor` is
 * the oldest segment that sessions still need. Call it every few seconds. */
void logs_tick(struct logs *logs, uint64_t now_ms, uint32_t floor);

const char *log_id(const struct log *log);
bool log_is_over(const struct log *log);
void log_set_held(struct log *log, bool is_held); /* the result's state says so */
bool log_is_held(const struct log *log);
uint64_t log_seq(const struct log *log); /* of the last event */
uint64_t log_begun_ms(const struct log *log);
uint64_t log_last_us(const struct log *log); /* when its last event was added, since 1970 */
uint64_t log_marks(const struct log *log, size_t which);

/* The owner of the run: "token" in the head; NULL if the journal dropped it. Borrowed until the log
 * is forgotten or written to. */
const char *log_owner(const struct log *log);

/* The head's members about the run: JSON text, empty for missing ones. */
struct log_head {
	struct span session, op, policy, runtime, backend;
	struct span token;             /* the owner's name */
	struct span peer, who;         /* heads of an earlier version have no `who` */
	struct span command;           /* true: for the shell */
	struct span held;              /* true: a person had to allow it */
	struct span sha256, code_size; /* of its code */
	struct span line;              /* the line of code that names the run */
};

/* The head and code as given to logs_add; false if the journal dropped them: then the head is
 * empty. Borrowed until the next call. */
bool log_head(const struct log *log, struct log_head *ret_head);
bool log_code(const struct log *log, const char **ret_code, size_t *ret_size);

/* Write a NOTE, or read the last one: bytes whose meaning only run_resume.c knows. log_last_note is
 * false if there is none, or an empty one. */
int log_note(struct log *log, const char *note, size_t size, struct err *err);
bool log_last_note(const struct log *log, const char **ret_note, size_t *ret_size);

/* Adds the line {"seq":N,"t_ms":T,"type":"<type>"<members>}; `members` is "" or starts with a
 * comma; `marks` say how much was taken from each source up to this line (NULL: as before).
 * `is_last` ends the log: readers are told, no line can follow. */
int log_add(struct log *log, const char *type, const void *members, size_t size,
	    const uint64_t marks[3], bool is_last, struct err *err);

/* Ends a log whose last line could not be written: readers are told. A restart does not know of
 * it. */
void log_end(struct log *log);

/* Adds a piece of a frame, kept until the event it belongs to; log_pieces appends all pieces to
 * `buf`. */
int log_piece(struct log *log, const void *data, size_t size, const uint64_t marks[3],
	      struct err *err);
int log_pieces(const struct log *log, struct buf *buf);

/* Reads the events after number `after`. `ready` is called from log_add whenever there may be more;
 * it may close any reader, but must not cause a log to be forgotten. */
void log_reader_open(struct log_reader *reader, struct log *log, uint64_t after,
		     void (*ready)(void *user), void *user);
void log_reader_close(struct log_reader *reader);

/* The next line without its newline. Returns 1, 0 if there is none yet, -ENODATA at the end (the
 * log is over, or was forgotten), -ENOENT if the journal has dropped what comes next. */
int log_reader_next(struct log_reader *reader, const char **ret_text, size_t *ret_size);

/* The result (contracts: native, 2.2), made from the lines as they are now; "verdict" is null while
 * the run is under way. The text is read with log_text.h. Once all of it was read into `bytes`,
 * log_result_value gives it as a value, which borrows from them. log_result does both at once. */
struct log_text;
int log_result_open(struct log *log, struct log_text **ret_text, struct err *err);
void log_result_value(const struct log_text *text, const char *bytes, struct result *ret_result);
int log_result(struct log *log, struct buf *buf, struct result *ret_result, struct err *err);

/* The runs of `session` as a notebook (nbformat 4.5), oldest first; `name` may be NULL. */
struct log_text *logs_notebook_open(struct logs *logs, const char *session, const char *name);

/* To be called before the notebook is read: adds the runs of this session, up to and including
 * `run`. */
void log_notebook_inherit(struct log_text *text, const char *session, const char *run);
