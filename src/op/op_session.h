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

/* Answers with the session as it is now. */
void op_session_answer(struct op_call *call, unsigned status, const struct session *session);

/* What a new session is asked to be. */
struct op_create_args {
	const char *policy, *runtime, *backend, *name;
	uint64_t idle_ms, ttl_ms;
	enum op_bool transactional, keep;
	enum op_bool reuse; /* only op_session_create has it */
};

#define OP_CREATE_PARAMS 8

/* The rows of op_create_args where the body is something else: in the query. */
extern const struct op_param op_import_params[OP_CREATE_PARAMS];

/* Which policy and kind of sandbox that is: checked for this caller; an error names the field. */
int op_session_choose(const struct op_call *call, const struct op_create_args *args,
		      struct session_change *ret_choice, struct err *err);

/* Makes one for this caller. `created` follows with the call: it is there, or why not; a request
 * that cannot be has failed already. */
void op_session_make(struct op_call *call, const struct op_create_args *args,
		     void (*created)(void *call, struct session *session, const struct err *why));
