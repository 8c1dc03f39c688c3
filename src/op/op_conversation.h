// SPDX-License-Identifier: Apache-2.0
/*
 * Op conversation - what the ops about one conversation share
 *
 * Owns:    finding the caller's conversation.
 * May not: show one to anybody but the token that made it.
 */
#pragma once

#include "base/c.h"
#include "document/conversation.h"
#include "op/op.h"
#include "session/engine.h"

/* {id} of the path, for an args struct whose field is `id`. */
#define OP_CONVERSATION_ID(args)                                                                   \
	{                                                                                          \
		OP_PARAM(args, id, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH,                \
			 .is_required = true, .help = "id of the conversation")                    \
	}

/* The caller's conversation, or NULL: then the call has failed as not_found. */
struct conversation *op_conversation_find(struct op_call *call, const char *id);
