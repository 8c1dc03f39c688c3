// SPDX-License-Identifier: Apache-2.0
/*
 * Librechat - the code interpreter of LibreChat: /exec, /upload, /download and /files
 *
 * Owns:    what its files share: one call, the steps it takes, and its ids.
 * May not: be included by anybody else.
 *
 * There an execution is a process of its own, and only files last. So each is a run in a new
 * session; the session stays, for its idle time, if the run has left files in it. A file is known
 * by its session and an id, both of 21 characters, which is what LibreChat's server lets through:
 * the beginning of our session's id, and a hash of the path.
 */
#pragma once

#include "api/decode.h"
#include "api/exchange.h"
#include "door/script.h"
#include "op/op_session.h"

#define CHAT_ID_SIZE 22 /* with the NUL */

/* A file that a request names. */
struct chat_ref {
	const char *session, *id, *name; /* borrowed from the request */
};

struct chat {
	struct exchange *call;
	struct ask *ask;        /* borrowed while it runs; NULL: none does */
	bool is_left;           /* by its client */
	struct decoded decoded; /* of the op that is asked now */

	struct buf sessions; /* JSON: what session.list said; empty: not asked yet */
	char session[ID_SIZE];
	struct chat_ref *refs;
	size_t ref_count, at;
	struct buf gone; /* a text about files that are no more */

	struct op_create_args create;
	struct op_run_args run;
	struct run_file *files; /* put there before the run; room for all that may come */
	uint64_t held;          /* bytes of them */
	struct script script;

	void (*found)(struct chat *chat, const char *path); /* of chat_find_path */
	void (*ran)(struct chat *chat);                     /* of chat_run */
};

/* The state of a call, its fields empty; freed with the call. */
struct chat *chat_new(struct exchange *call);

void chat_say(struct exchange *call, unsigned status, const char *text);
void chat_fail(struct chat *chat, const struct ask_result *result);

/* ---- librechat_files.c ---- */

/* "ses_0123..." as LibreChat knows it; a path likewise. */
void chat_short_session(const char *session, char ret_id[CHAT_ID_SIZE]);
void chat_file_id(const char *path, size_t size, char ret_id[CHAT_ID_SIZE]);

/* May this be the path of a file, below the folder of the run? */
bool chat_is_path(const char *path);

/* Asks for an op whose arguments are an id, and perhaps a path. */
void chat_ask(struct chat *chat, const struct op *op, const char *path,
	      const struct ask_calls *calls);

/* Sets chat->session and tells chat->found the path of the file chat->refs[chat->at]; NULL: there
 * is none. */
void chat_find_path(struct chat *chat);

/* {"id","name","session_id",...} for each of the script's files. */
json_t *chat_files_of(const struct chat *chat);

/* GET /download/{session}/{file}, GET /files/{session} */
void chat_download(struct exchange *call);
void chat_list(struct exchange *call);

/* ---- librechat.c ---- */

/* A new session, and a run in it; then chat->ran. On failure the call is answered. */
void chat_run(struct chat *chat);

/* Ends the session, once the call is answered. */
void chat_drop_session(struct chat *chat);
