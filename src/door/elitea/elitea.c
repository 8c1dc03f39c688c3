// SPDX-License-Identifier: Apache-2.0
#include "door/elitea/elitea.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/exchange.h"
#include "base/c.h"
#include "door/boot_token.h"
#include "session/engine.h"

#define ANSWER_MAX (256UL << 20)

/* The client shows `stderr` or else `detail` of a 503, and the raw body of all other failures. */
static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	const char *detail = err->text;

	if (status == 401)
		detail = "Sandbox auth token invalid";
	exchange_answer_text(call, status, "detail", detail);
}

static const struct op_param members[] = {
	{.name = "code", .type = OP_BYTES},
	{.name = "session_bytes", .type = OP_BYTES},
	{.name = "session_metadata", .type = OP_TEXT},
	{.name = "timeout_seconds", .type = OP_JSON},
	{.name = "stateful", .type = OP_BOOL},
};

struct visit {
	struct elitea_run run;
};

static void answer(struct exchange *call, struct buf *body, int r)
{
	if (r < 0) {
		buf_done(body);
		exchange_answer_text(call, 503, "detail", "the answer is too large");
		return;
	}
	exchange_answer(call, 200, body);
}

static void refuse_softly(struct exchange *call, const char *why)
{
	const struct visit *visit = call->user;
	AUTO_BUF struct buf body = {.max = ANSWER_MAX};

	answer(call, &body, elitea_put_refusal(&visit->run, why, &body));
}

static void run_done(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct visit *visit = call->user;
	struct ending ending;
	AUTO_BUF struct buf body = {.max = ANSWER_MAX};

	if (result->err != NULL) {
		unsigned status = exchange_status(result->err);

		exchange_answer_text(call, status == 429 ? 503 : status, "detail",
				     result->err->text);
		return;
	}
	(void)ending_read(result->value, &ending);
	answer(call, &body, elitea_put_answer(&visit->run, &ending, &body));
}

/* A session that cannot be read must not count as absent: the next answer would replace it. */
static const char *wrong_member(struct exchange *call)
{
	const json_t *metadata = exchange_member(call, "session_metadata");
	const json_t *stateful = exchange_member(call, "stateful");

	if (exchange_is_wrong(call, "session_bytes"))
		return "session_bytes: base64 text or null is required";
	if (metadata != NULL && !json_is_object(metadata) && !json_is_null(metadata))
		return "session_metadata: an object or null is required";
	if (stateful != NULL && !json_is_boolean(stateful) && !json_is_null(stateful))
		return "stateful: true, false or null is required";
	return NULL;
}

/* The client sends both members of the session with every run, null in the first one: their
 * presence says that it wants them back. */
static void take_session(struct exchange *call, struct elitea_run *run)
{
	json_t *metadata = exchange_member(call, "session_metadata");

	(void)exchange_large(call, "session_bytes", true, &run->args.saved);
	run->metadata = json_is_object(metadata) ? metadata : NULL;
	run->is_stateful = metadata != NULL || run->args.saved.data != NULL ||
			   json_is_true(exchange_member(call, "stateful"));
}

static void take_timeout(struct exchange *call, struct elitea_run *run)
{
	struct run_bytes text = {0};

	if (exchange_large(call, "timeout_seconds", true, &text) &&
	    text.size < sizeof(run->timeout))
		memcpy(run->timeout, text.data, text.size);
}

static bool is_too_large(const struct elitea_limits *limits, const struct elitea_run *run)
{
	return run->args.saved.size > (limits->session_max + 2) / 3 * 4;
}

static void execute(struct exchange *call)
{
	static const struct ask_calls calls = {.done = run_done};
	struct visit *visit = exchange_memory(call, sizeof(*visit));
	struct elitea_run *run = &visit->run;
	const struct elitea_limits *limits = call->state;
	const char *wrong;
	char why[200];

	call->user = visit;
	if (!exchange_large(call, "code", true, &run->args.code)) {
		exchange_answer_text(call, 422, "detail", "code: a text is required");
		return;
	}
	wrong = wrong_member(call);
	if (wrong != NULL) {
		exchange_answer_text(call, 422, "detail", wrong);
		return;
	}
	take_session(call, run);
	if (run->args.saved.data != NULL && run->metadata == NULL) {
		refuse_softly(call, ELITEA_NEEDS_METADATA);
		return;
	}
	if (is_too_large(limits, run)) {
		(void)snprintf(why, sizeof(why),
			       "session_bytes: larger than the %llu bytes that a session may have",
			       (unsigned long long)limits->session_max);
		refuse_softly(call, why);
		return;
	}
	if (!elitea_admits(limits, elitea_running(call->engine, &call->caller), why, sizeof(why))) {
		refuse_softly(call, why);
		return;
	}
	take_timeout(call, run);
	elitea_prepare(limits, call->engine->config, &call->caller, run);
	call->left = exchange_cancel;
	exchange_ask(call, &op_run, &run->args, &calls);
}

static int open_door(struct engine *engine, void **ret_state, struct err *err)
{
	const struct elitea_config *own = config_part(engine->config, &elitea_config);
	struct elitea_limits *limits = NULL;

	if (config_policy(engine->config, own->policy, err) == NULL)
		return err_wrap(err, "dialects.elitea.policy");
	limits = xnew(struct elitea_limits);
	elitea_limits_read(engine->config, limits);
	*ret_state = limits;
	return 0;
}

static int boot(struct config *config, struct err *err)
{
	return boot_token_read(config, "SANDBOX_AUTH_TOKEN", "elitea", err);
}

static const struct door_route routes[] = {
	{.method = "POST", .path = "/execute", DOOR_MEMBERS(members), .run = execute},
};

const struct door door_elitea = {
	.name = "elitea",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	.config = &elitea_config,
	.token_header = "X-Sandbox-Token",
	.refuse = refuse,
	.boot = boot,
	.open = open_door,
	.close = free,
};
