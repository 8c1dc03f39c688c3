// SPDX-License-Identifier: Apache-2.0
/*
 * Session - what the subcommands of `viv session` share
 *
 * Owns:    the way from a word on the command line (an id, its beginning, a name) to a session.
 * May not: hold what a subcommand does: that is a row in cmd_session.c and a function in
 *          session_*.c.
 */
#pragma once

#include <jansson.h>

#include "base/id.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/run_inputs.h"

/* Values of the flags. */
struct session_options {
	struct run_options run; /* of run and repl; config and --json of all */
	const char *name, *idle, *ttl;
	const char *policy, *runtime, *backend; /* of a new session */
	bool is_plain;                          /* not transactional */
	bool is_kept;                           /* its states are written to disk */
	bool is_recursive;
	uint64_t offset, limit;
	const char *sort, *filter, *search, *csv; /* of vars */
	const char *token_file;
};

/* One call of a subcommand. */
struct session_desk {
	const struct session_options *options; /* borrowed, as all here */
	const struct config *config;
	struct client *client;
	char id[ID_SIZE];  /* of the session that the first word names; "": none */
	char *const *rest; /* the words after it */
	size_t rest_count;
};

struct session_verb {
	struct cmd_verb row;
	bool has_id; /* the first word names a session */

	/* Returns the exit status, or a negative errno. */
	int (*run)(const struct session_desk *desk, struct err *err);
};

/* session_basic.c */
int verb_new(const struct session_desk *desk, struct err *err);
int verb_list(const struct session_desk *desk, struct err *err);
int verb_rm(const struct session_desk *desk, struct err *err);
int verb_interrupt_now(const struct session_desk *desk, struct err *err);
/* session_states.c */
int verb_checkpoint_make(const struct session_desk *desk, struct err *err);
int verb_checkpoints(const struct session_desk *desk, struct err *err);
int verb_rollback_to(const struct session_desk *desk, struct err *err);
int verb_wake(const struct session_desk *desk, struct err *err);
int verb_restart(const struct session_desk *desk, struct err *err);
int verb_drop(const struct session_desk *desk, struct err *err);
int verb_keep(const struct session_desk *desk, struct err *err);
int verb_fork_off(const struct session_desk *desk, struct err *err);
int verb_diff(const struct session_desk *desk, struct err *err);
/* session_vars.c */
int verb_vars(const struct session_desk *desk, struct err *err);
/* session_looks.c */
int verb_files(const struct session_desk *desk, struct err *err);
int verb_put_file(const struct session_desk *desk, struct err *err);
int verb_get_file(const struct session_desk *desk, struct err *err);
int verb_export(const struct session_desk *desk, struct err *err);
int verb_import(const struct session_desk *desk, struct err *err);
int verb_notebook(const struct session_desk *desk, struct err *err);
/* session_run.c, session_repl.c */
int verb_run_code(const struct session_desk *desk, struct err *err);
int verb_repl(const struct session_desk *desk, struct err *err);

/* True if `id` begins with `word`, with or without its prefix ("ses_"). */
bool session_begins(const char *id, const char *word);

/* Finds the session that `word` means: by its id, the unambiguous beginning of one, or its name. */
int session_resolve(struct client *client, const char *word, char ret_id[ID_SIZE], struct err *err);

/* Refuses a name that a session already has: the name would find neither. NULL is accepted. */
int session_check_name(struct client *client, const char *name, struct err *err);

/* Sets `buf` to /v1/sessions/ID, followed by `format`. */
void session_path(const struct session_desk *desk, struct buf *buf, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Sends a request to such a path; with --json the answer is printed. The caller owns the answer. */
json_t *session_ask(const struct session_desk *desk, const char *method, json_t *take_body,
		    struct err *err, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* As session_ask for GET of `path`, which is freed. */
json_t *session_get(const struct session_desk *desk, struct buf *take_path, struct err *err);

/* GET of `path`, which is freed, into `file`. Prints one line about the file, unless its bytes go
 * to stdout ("-"). Returns the exit status. */
int session_fetch(const struct session_desk *desk, struct buf *take_path, const char *file,
		  struct err *err);

/* Appends ?NAME=TEXT to a path, with & instead of ? after the first; nothing for NULL. */
void session_put_query(struct buf *path, const char *name, const char *text);

/* A text member of an answer, "" if there is none; and a number. */
const char *session_text(const json_t *object, const char *name);
uint64_t session_number(const json_t *object, const char *name);

/* Prints a list of sessions as a table; `width` is that of table_print(). */
void session_print_list(const json_t *sessions, size_t width, FILE *out);
