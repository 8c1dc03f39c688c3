// SPDX-License-Identifier: Apache-2.0
/*
 * Op look - what the ops share that ask a session instead of running code in it
 *
 * Owns:    the question under way, and turning its answer into the op's: JSON, bytes as they come,
 *          or an error.
 * May not: read an answer: it comes from a sandbox, and is passed on as it is.
 */
#pragma once

#include "op/object.h"
#include "op/op_session.h"

#define LOOK_STREAM_MS 600000U /* a client may be slow to take a large file, not forever */

/* Begins the question {"kind":...}; object_close it, and give it to op_look or op_look_bytes, which
 * consume it. */
void op_look_init(struct object *question, const char *kind);

/* Asks. `ask` is complete but for its JSON. `answered` gets the answer, a JSON object, with the
 * checkpoint that it is from ("" for the session as it is now), and answers the call; a question
 * that failed fails the call. */
void op_look(struct op_call *call, struct session *session, struct object *take_question,
	     const struct look_ask *ask,
	     void (*answered)(struct op_call *call, const char *json, size_t size,
			      const char *as_of));

/* Asks, and answers the call with the bytes that come, as fast as the client takes them. `type` is
 * theirs; NULL: as the sandbox says, with the size that it says. */
void op_look_bytes(struct op_call *call, struct session *session, struct object *take_question,
		   const char *type);

/* Answers with the JSON object and a member `as_of`, where there is a checkpoint. */
void op_look_pass(struct op_call *call, const char *json, size_t size, const char *as_of);

/* Is this answer an error? Then it is in `err`. */
bool op_look_failed(const char *json, size_t size, struct err *err);
