// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/utf8.h"
#include "op/object.h"
#include "op/op_run.h"
#include "op/run_log.h"
#include "op/run_row.h"

#define CODE_SHOWN (64U << 10) /* in the list; all of it is at /v1/runs/{id}/code */
#define WHY_MAX 500
#define SHOWN_MAX 200U /* runs in one answer; the rest is only counted */
#define ANSWER_MAX (128UL << 20)

struct decide_args {
	const char *id;
	const char *why;
};

#define RUN_ID                                                                                     \
	{                                                                                          \
		OP_PARAM(struct decide_args, id, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH,  \
			 .is_required = true, .help = "id of the run")                             \
	}

static const struct op_param allow_params[] = {RUN_ID};

static const struct op_param deny_params[] = {
	RUN_ID,
	{OP_PARAM(struct decide_args, why, .name = "why", .type = OP_TEXT, .max = WHY_MAX,
		  .help = "reason, told to the client that asked for the run")},
};

/* ---- the list ---- */

static void put_code(struct object *object, const struct log *log)
{
	const char *code = NULL;
	size_t size = 0;
	struct buf text;

	buf_init(&text, 8UL * CODE_SHOWN);
	if (!log_code(log, &code, &size))
		code = "";
	if (size > CODE_SHOWN)
		size = utf8_cut(code, CODE_SHOWN);
	object->buf.failed |= json_put_string(&text, code, size);
	object_json(object, "code", (const char *)text.data, text.size);
	buf_done(&text);
}

static void put_held(struct object *object, const struct op_call *call,
		     const struct served_run *served)
{
	struct err err = {0};

	object_open(object, NULL, '{');
	run_row_members(object, call->engine, served->log);
	put_code(object, served->log);
	object_number(object, "held_ms", served->held_ms);
	object_number(object, "until_ms", served->until_ms);
	object_json(object, "inputs", served->inputs, strlen(served->inputs));
	object_bool(object, "may", served_check_decider(served, &call->caller, &err) == 0);
	object_close(object, '}');
}

static void call_approvals(struct op_call *call)
{
	const struct served_run *served = NULL;
	struct object object;
	uint32_t count = 0;

	object_init(&object, ANSWER_MAX);
	object_open(&object, "held", '[');
	LIST_FOREACH(served, &call->engine->runs, entry) {
		if (!served->is_held || served->log == NULL ||
		    !op_may_see(&call->caller, served->token))
			continue;
		if (count++ < SHOWN_MAX)
			put_held(&object, call, served);
	}
	object_close(&object, ']');
	object_number(&object, "more", count > SHOWN_MAX ? count - SHOWN_MAX : 0);
	object_answer(&object, call, 200);
}

/* ---- the decision ---- */

/* Answers with the run's row. The log outlives `served`, which the decision may have freed. */
static void answer_row(struct op_call *call, struct log *log)
{
	struct object object;

	object_init(&object, KIB * KIB);
	run_row_members(&object, call->engine, log);
	object_answer(&object, call, 200);
}

/* Finds a run that is not over and that the caller may see; else NULL, and the call has failed. */
static struct served_run *find_held(struct op_call *call, const char *id, struct log **ret_log)
{
	struct log *log = run_log_find(call, id);
	struct served_run *served = log != NULL ? served_find(call->engine, id) : NULL;
	struct err err = {0};

	if (log == NULL)
		return NULL;
	if (served != NULL && served->run != NULL) {
		*ret_log = log;
		return served;
	}
	(void)err_set(&err, ERR_CONFLICT, ESRCH, "the run is over");
	op_fail(call, &err);
	return NULL;
}

static void decide(struct op_call *call, bool is_allowed)
{
	const struct decide_args *args = call->args;
	struct log *log = NULL;
	struct served_run *served = find_held(call, args->id, &log);
	struct err err = {0};
	int r;

	if (served == NULL)
		return;
	r = is_allowed ? served_allow(served, &call->caller, &err)
		       : served_deny(served, &call->caller, args->why, &err);
	if (r < 0)
		op_fail(call, &err);
	else
		answer_row(call, log);
}

static void call_allow(struct op_call *call)
{
	decide(call, true);
}

static void call_deny(struct op_call *call)
{
	decide(call, false);
}

const struct op op_approvals = {
	.name = "approvals",
	.method = "GET",
	.path = "/v1/approvals",
	.help = "Runs that wait for a person to allow them, the latest first, with their code",
	.answer = "Held",
	.call = call_approvals,
};

const struct op op_allow = {
	.name = "run.allow",
	.method = "POST",
	.path = "/v1/runs/{id}/allow",
	.help = "Let a held run begin; never a run of one's own",
	.params = allow_params,
	.param_count = ARRAY_LEN(allow_params),
	.args_size = sizeof(struct decide_args),
	.answer = "RunLine",
	.call = call_allow,
};

const struct op op_deny = {
	.name = "run.deny",
	.method = "POST",
	.path = "/v1/runs/{id}/deny",
	.help = "End a held run before it begins; its verdict is denied",
	.params = deny_params,
	.param_count = ARRAY_LEN(deny_params),
	.args_size = sizeof(struct decide_args),
	.answer = "RunLine",
	.call = call_deny,
};
