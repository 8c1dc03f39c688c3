// SPDX-License-Identifier: Apache-2.0
/*
 * Op look - what ops share that ask a session a question instead of running code in it
 *
 * Owns:    the pending question, and turning its answer into the op's: JSON, bytes as they come, or
 *          an error.
 * May not: interpret an answer beyond its error: it comes from a sandbox, and is passed on as it
 *          is.
 */
#pragma once

#include "op/object.h"
#include "op/op_session.h"

#define LOOK_STREAM_MS 600000U /* a client may be slow to take a large file, not forever */

/* Begins the question {"kind":...}; object_close it, and give it to op_look or op_look_bytes, which
 * consume it. */
void op_look_init(struct object *question, const char *kind);

/* Asks the session. `ask` is complete except for its JSON. `answered` gets the answer, a JSON
 * object, with the state that it is from, and answers the call; a question that fails also fails
 * the call. */
void op_look(struct op_call *call, struct session *session, struct object *take_question,
	     const struct look_ask *ask,
	     void (*answered)(struct op_call *call, const char *json, size_t size,
			      const struct look_state *state));

/* Asks the session, and answers the call with the bytes that come, as fast as the client takes
 * them. `type` is their media type; NULL: the sandbox states type and size. */
void op_look_bytes(struct op_call *call, struct session *session, struct object *take_question,
		   const char *type);

/* Answers with the JSON object, and a member `as_of` if a checkpoint answered; with
 * `checkpoint_blocked_by`, too, if runs before the present one left no newer checkpoint. */
void op_look_pass(struct op_call *call, const char *json, size_t size,
		  const struct look_state *state);

/* Is this answer an error? Then it is in `err`. */
bool op_look_failed(const char *json, size_t size, struct err *err);
