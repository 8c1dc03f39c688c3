// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "op/object.h"
#include "op/op.h"
#include "op/op_backends.h"
#include "session/engine.h"

#define ANSWER_MAX (16U << 10)
#define FRESH_MS 60000 /* code must have run within this time; the prober looks more often */

/* Healthy means that code ran lately. A daemon that answers but cannot run code is not. */
static void call_health(struct op_call *call)
{
	const struct engine *engine = call->engine;
	uint64_t now = now_ns() / 1000000;
	const struct backend_host host = op_host(engine);
	bool is_fresh = engine->last_good_ms > 0 && now < engine->last_good_ms + FRESH_MS;
	bool is_starting = engine->last_good_ms == 0 && engine->health_why.kind == ERR_NONE;
	struct object object;

	object_init(&object, ANSWER_MAX);
	object_text(&object, "status", is_fresh ? "ok" : is_starting ? "starting" : "failing");
	if (engine->last_good_ms > 0)
		object_number(&object, "last_run_ms", now - engine->last_good_ms);
	else
		object_null(&object, "last_run_ms");
	if (engine->health_why.kind != ERR_NONE)
		object_text(&object, "why", engine->health_why.text);
	else
		object_text(&object, "why", is_fresh ? NULL : "no code has run yet, or lately");
	op_put_backends(&object, &host);
	object_answer(&object, call, is_fresh ? 200 : 503);
}

const struct op op_health = {
	.name = "health",
	.method = "GET",
	.path = "/health",
	.help = "Has code really run lately? 503 when it has not",
	.answer = "Health",
	.also = "503 Health",
	.is_open = true,
	.call = call_health,
};
