// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "op/flight.h"
#include "op/object.h"
#include "op/run_row.h"

#define CODE_SHOWN (64U << 10) /* in the list; all of it is at /v1/runs/{id}/code */
#define WHY_MAX 500
#define SHOWN_MAX 200U /* runs; of more only the number is told */
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
		  .help = "what whoever asked is told")},
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
	if (size > CODE_SHOWN) {
		size = CODE_SHOWN;
		/* Not in the middle of a character. */
		while (size > 0 && ((unsigned char)code[size] & 0xc0) == 0x80)
			size--;
	}
	if (object->r == 0)
		object->r = json_put_string(&text, code, size);
	object_json(object, "code", (const char *)text.data, text.size);
	buf_done(&text);
}

static void put_held(struct object *object, const struct op_call *call, const struct flight *flight)
{
	struct err err = {0};

	object_open(object, NULL, '{');
	run_row_members(object, call->engine, flight->log);
	put_code(object, flight->log);
	object_number(object, "held_ms", flight->held_ms);
	object_number(object, "until_ms", flight->until_ms);
	object_json(object, "inputs", flight->inputs, strlen(flight->inputs));
	object_bool(object, "may", flight_check_decider(flight, &call->caller, &err) == 0);
	object_close(object, '}');
}

static void call_approvals(struct op_call *call)
{
	const struct flight *flight = NULL;
	struct object object;
	uint32_t count = 0;

	object_init(&object, ANSWER_MAX);
	object_open(&object, "held", '[');
	LIST_FOREACH(flight, &call->engine->flights, entry) {
		if (!flight->is_held || flight->log == NULL ||
		    !op_may_see(&call->caller, flight->token))
			continue;
		if (count++ < SHOWN_MAX)
			put_held(&object, call, flight);
	}
	object_close(&object, ']');
	object_number(&object, "more", count > SHOWN_MAX ? count - SHOWN_MAX : 0);
	object_answer(&object, call, 200);
}

/* ---- the decision ---- */

/* The row as it is now. Its log stays, whatever became of the flight. */
static void answer_row(struct op_call *call, struct log *log)
{
	struct object object;

	object_init(&object, KIB * KIB);
	run_row_members(&object, call->engine, log);
	object_answer(&object, call, 200);
}

/* Held, and the caller may know of it; else the call has failed. */
static struct flight *find_held(struct op_call *call, const char *id, struct log **ret_log)
{
	struct log *log = flight_find_log(call, id);
	struct flight *flight = log != NULL ? flight_find(call->engine, id) : NULL;
	struct err err = {0};

	if (log == NULL)
		return NULL;
	if (flight != NULL && flight->run != NULL) {
		*ret_log = log;
		return flight;
	}
	(void)err_set(&err, ERR_CONFLICT, ESRCH, "the run is over");
	op_fail(call, &err);
	return NULL;
}

static void decide(struct op_call *call, bool is_allowed)
{
	const struct decide_args *args = call->args;
	struct log *log = NULL;
	struct flight *flight = find_held(call, args->id, &log);
	struct err err = {0};
	int r;

	if (flight == NULL)
		return;
	r = is_allowed ? flight_allow(flight, &call->caller, &err)
		       : flight_deny(flight, &call->caller, args->why, &err);
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
