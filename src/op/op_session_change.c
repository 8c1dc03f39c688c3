// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "op/announce.h"
#include "op/op_session.h"

struct change_args {
	const char *id;
	const char *name;
	enum op_bool keep;
};

static const struct op_param change_params[] = {
	OP_SESSION_ID(struct change_args),
	{OP_PARAM(struct change_args, name, .name = "name", .type = OP_TEXT,
		  .max = SESSION_NAME_MAX, .help = "another name for people")},
	{OP_PARAM(struct change_args, keep, .name = "keep", .type = OP_BOOL,
		  .help = "write its states to disk from now on; false: stop writing them, and "
			  "delete those on disk")},
};

static void call_change(struct op_call *call)
{
	const struct change_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct err err = {0};

	if (session == NULL)
		return;
	if (args->name != NULL && args->name[0] == '\0') {
		(void)err_field(&err, ERR_BAD_REQUEST, EINVAL, "name", "must not be empty");
		op_fail(call, &err);
		return;
	}
	if (args->keep != OP_UNSET && session_set_kept(session, args->keep == OP_YES, &err) < 0) {
		op_fail(call, &err);
		return;
	}
	if (args->name != NULL)
		session_rename(session, args->name);
	announce_session(call->engine, session);
	op_session_answer(call, 200, session);
}

const struct op op_session_change = {
	.name = "session.change",
	.method = "PATCH",
	.path = "/v1/sessions/{id}",
	.help = "Give a session another name, or have its states written to disk",
	.params = change_params,
	.param_count = ARRAY_LEN(change_params),
	.args_size = sizeof(struct change_args),
	.answer = "Session",
	.call = call_change,
};
