// SPDX-License-Identifier: Apache-2.0
/*
 * Op session - what the ops about one session share
 *
 * Owns:    finding the caller's session, and making one.
 * May not: show a session to anybody but the token that made it.
 */
#pragma once

#include "base/c.h"
#include "op/op.h"
#include "session/engine.h"
#include "session/session.h"

#define SESSION_ANSWER_MAX (1U << 20)

/* {id} of the path, for an args struct whose field is `id`. */
#define OP_SESSION_ID(args)                                                                        \
	{                                                                                          \
		OP_PARAM(args, id, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH,                \
			 .is_required = true, .help = "id of the session")                         \
	}

/* The caller's session, or NULL: then the call has failed as not_found. */
struct session *op_session_find(struct op_call *call, const char *id);

/* The sessions that the caller may see, the oldest first, NULL-terminated; the caller frees the
 * list. */
struct session **op_sessions_seen(const struct engine *engine, const struct op_caller *caller);

/* Answers with the session as it is now. */
void op_session_answer(struct op_call *call, unsigned status, const struct session *session);

/* Ends a call that asked something of the session `id`: answers with the session, or fails. */
void op_session_done(struct op_call *call, const char *id, const struct err *why);

/* The client's wishes for a new session. */
struct op_create_args {
	const char *policy, *runtime, *backend, *name;
	uint64_t idle_ms, ttl_ms;
	enum op_bool transactional, keep;
	enum op_bool reuse; /* only op_session_create has it */
};

#define OP_CREATE_PARAMS 8

/* The rows of op_create_args as parameters of the query, for ops whose body is something else. */
extern const struct op_param op_import_params[OP_CREATE_PARAMS];

/* Chooses policy and kind of sandbox from what this caller may use; an error names the field. */
int op_session_choose(const struct op_call *call, const struct op_create_args *args,
		      struct session_change *ret_choice, struct err *err);

/* Makes a session for this caller. `created` gets the call and the session, or why there is none. A
 * request that is refused at once fails the call here, without `created`. */
void op_session_make(struct op_call *call, const struct op_create_args *args,
		     void (*created)(void *call, struct session *session, const struct err *why));
