// SPDX-License-Identifier: Apache-2.0
/*
 * Librechat - the code interpreter of LibreChat: /exec, /upload, /download and /files
 *
 * Owns:    what its files share: one call, the steps it takes, and its ids.
 * May not: be included by anybody else.
 *
 * In LibreChat an execution is a process of its own, and only files last. So each execution is a
 * run in a new session; if the run leaves files, the session stays for its idle time. A file is
 * named by its session and an id, both of 21 characters, since LibreChat's server accepts nothing
 * else: the beginning of our session's id, and a hash of the path.
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
	bool is_left;           /* the client has left */
	struct decoded decoded; /* arguments of the op that is running */

	char session[ID_SIZE];
	struct chat_ref *refs;
	size_t ref_count, at;
	struct buf gone; /* a text that lists missing files */

	struct op_create_args create;
	struct run_request run;
	struct run_file *files; /* written before the run; room for all that may come */
	uint64_t held;          /* total bytes of the files */
	struct script script;

	void (*found)(struct chat *chat, const char *path); /* called by chat_find_path */
	void (*ran)(struct chat *chat);                     /* called after the run */
};

/* The state of a call, zeroed; freed with the call. */
struct chat *chat_new(struct exchange *call);

void chat_say(struct exchange *call, unsigned status, const char *text);
void chat_fail(struct chat *chat, const struct ask_result *result);

/* ---- librechat_files.c ---- */

/* LibreChat's id for a session ("ses_0123...") and for a path. */
void chat_short_session(const char *session, char ret_id[CHAT_ID_SIZE]);
void chat_file_id(const char *path, size_t size, char ret_id[CHAT_ID_SIZE]);

/* Asks an op whose arguments are the session's id and, unless NULL, a path. */
void chat_ask(struct chat *chat, const struct op *op, const char *path,
	      const struct ask_calls *calls);

/* Sets chat->session and calls chat->found with the path of the file chat->refs[chat->at]; NULL:
 * there is no such file. */
void chat_find_path(struct chat *chat);

/* {"id","name","session_id",...} for each of the script's files. */
json_t *chat_files_of(const struct chat *chat);

/* GET /download/{session}/{file}, GET /files/{session} */
void chat_download(struct exchange *call);
void chat_list(struct exchange *call);
