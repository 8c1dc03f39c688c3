// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "obs/audit.h"
#include "op/object.h"
#include "session/engine.h"
#include "session/testimony.h"

#define LINES_MAX 1000U
#define LINES_DEFAULT 100U
#define ANSWER_MAX (20UL << 20)
#define TOKEN_SIZE 256

struct audit_args {
	uint64_t limit;
};

static const struct op_param params[] = {
	{OP_PARAM(struct audit_args, limit, .name = "limit", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .min = 1, .max = LINES_MAX,
		  .help = "how many of the latest lines (default: 100)")},
};

/* A caller without a token has the name "", and sees the lines whose token is null. */
static bool wants(void *user, const char *line, size_t size)
{
	const struct op_caller *caller = user;
	const char *value = NULL;
	size_t value_size = 0;
	char token[TOKEN_SIZE] = "";

	if (!json_find(line, size, "token", &value, &value_size))
		return caller->is_overseer;
	if (value[0] == '"')
		testimony_text(value, value_size, token, sizeof(token));
	return op_may_see(caller, token);
}

static void call_audit(struct op_call *call)
{
	const struct audit_args *args = call->args;
	uint64_t limit = args->limit > 0 ? args->limit : LINES_DEFAULT;
	struct err err = {0};
	struct buf body;
	int r = 0;

	buf_init(&body, ANSWER_MAX);
	(void)buf_text(&body, "{\"lines\":[");
	if (call->engine->audit != NULL)
		r = audit_tail(call->engine->audit, (size_t)limit, wants, &call->caller, &body,
			       &err);
	if (r == 0 && buf_text(&body, "]}\n") < 0)
		r = err_field(&err, ERR_TOO_LARGE, EMSGSIZE, "limit",
			      "the requested lines are too long for one answer");
	if (r == 0)
		op_answer(call, 200, &body);
	else
		op_fail(call, &err);
	buf_done(&body);
}

const struct op op_audit = {
	.name = "audit",
	.method = "GET",
	.path = "/v1/audit",
	.help = "The latest lines of the audit log, the newest last: who ran what, and how it "
		"ended",
	.params = params,
	.param_count = ARRAY_LEN(params),
	.args_size = sizeof(struct audit_args),
	.answer = "Audit",
	.call = call_audit,
};
