// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "dialect/door.h"

static void refuse(struct door_call *call, unsigned status, const struct err *err)
{
	(void)err;
	switch (status) {
	case 401:
		door_answer_text(call, 401, "error", "Unauthorized");
		break;
	case 404:
	case 405:
		door_answer_text(call, 404, "error", "Not found");
		break;
	case 400:
		door_answer_text(call, 400, "error", "Invalid JSON body");
		break;
	default:
		door_answer_text(call, status, "error", err->text);
	}
}

static const struct op_param python_members[] = {
	{.name = "code", .type = OP_BYTES},
	{.name = "data", .type = OP_JSON},
	{.name = "timeout", .type = OP_MS},
};

static void python_done(void *user, const struct ask_result *result)
{
	struct door_call *call = user;
	struct buf body;

	if (result->err != NULL) {
		door_answer_text(call, 500, "error", result->err->text);
		return;
	}
	buf_init(&body, 1U << 20);
	(void)buf_append(&body, result->bytes, result->size);
	door_answer(call, 200, &body);
}

static void run_python(struct door_call *call)
{
	static const struct ask_calls calls = {.done = python_done};
	struct op_run_args *args = door_memory(call, sizeof(*args));

	if (!door_large(call, "code", true, &args->code)) {
		door_answer_text(call, 400, "error", "Missing or invalid 'code' field");
		return;
	}
	args->policy = "analysis";
	(void)door_large(call, "data", false, &args->data);
	(void)door_ask(call, &op_run, args, &calls);
}

static const struct door_route routes[] = {
	{.method = "POST", .path = "/exec-python", DOOR_MEMBERS(python_members), .run = run_python},
};

const struct door door_atlas = {
	.name = "atlas",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	DOOR_CONFIG(atlas),
	.refuse = refuse,
};
