// SPDX-License-Identifier: Apache-2.0
/* The sandbox of Dify's code node: POST /v1/sandbox/run, and the list of installed packages.
 * Answers are {"code","message","data"}; a wrong request gets status 200 and a negative code. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/exchange.h"
#include "base/c.h"
#include "base/json.h"
#include "door/config_table.h"
#include "door/script.h"
#include "op/packages.h"

#define ANSWER_MAX (4ULL << 30)
#define CODE_BAD (-400)
#define CODE_FAILED (-500)

/* One run. */
struct execution {
	struct run_request args;
	struct script script;
	struct buf code; /* preload and code joined; unused without a preload */
};

static void say(struct exchange *call, unsigned status, int code, const char *text)
{
	exchange_answer_tree(call, status,
			     json_pack("{s:i,s:s,s:n}", "code", code, "message", text, "data"));
}

static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	struct buf none;

	switch (status) {
	case 400:
		say(call, 200, CODE_BAD, "the body is not a JSON object");
		break;
	case 401:
		buf_init(&none, 1);
		exchange_answer(call, 401, &none);
		buf_done(&none);
		break;
	default:
		say(call, status, -(int)status, err->text);
	}
}

/* Answers a failure of ours, not of the code. Dify handles 503 specially; all other failures look
 * the same to it. */
static void fail(struct exchange *call, const struct err *err)
{
	unsigned status = exchange_status(err);

	if (status == 429 || status == 503)
		say(call, 503, -503, err->text);
	else
		say(call, 200, status >= 500 ? CODE_FAILED : -(int)status, err->text);
}

/* ---- a run ---- */

static int put_text(struct buf *buf, const char *name, const struct buf *text)
{
	buf_format(buf, "\"%s\":\"", name);
	buf_append(buf, text->data, text->size);
	buf_text(buf, "\",");
	return buf->failed;
}

/* Dify treats any `error` as a failure, so warnings on stderr do not go there. It reads the result
 * from stdout, so cut output is an error. */
static int put_error(struct buf *buf, struct script *script)
{
	static const struct buf none = {0};

	if (script_is(script, "ok") && script->is_out_cut)
		return buf_text(buf, "\"error\":\"" SCRIPT_CUT "\",");
	if (script_is(script, "ok"))
		return put_text(buf, "error", &none);
	if (script->err.size > 0 && !script_is_stopped(script))
		return put_text(buf, "error", &script->err);
	return put_text(buf, "error", &script->message);
}

static void answer_run(struct exchange *call, struct script *script)
{
	AUTO_BUF struct buf buf = {.max = ANSWER_MAX};

	buf_text(&buf, "{\"code\":0,\"message\":\"success\",\"data\":{");
	put_text(&buf, "stdout", &script->out);
	put_text(&buf, "stderr", &script->err);
	put_error(&buf, script);
	buf_format(&buf, "\"exit_code\":%lld}}", (long long)script->exit_code);
	if (buf.failed < 0)
		say(call, 200, CODE_FAILED, "no memory for the answer");
	else
		exchange_answer(call, 200, &buf);
}

static bool take_event(void *user, const char *line, size_t size)
{
	struct execution *execution = ((struct exchange *)user)->user;

	script_take(&execution->script, line, size);
	return true;
}

static void finish(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct execution *execution = call->user;
	struct script *script = &execution->script;

	if (result->err != NULL)
		fail(call, result->err);
	else if (script_is(script, "backend") || script->kind[0] == '\0')
		say(call, 200, CODE_FAILED, "the run was lost");
	else
		answer_run(call, script);
}

static void forget(struct exchange *call)
{
	struct execution *execution = call->user;

	script_done(&execution->script);
	buf_done(&execution->code);
}

/* The code, with the preload in front of it. -EINVAL: there is no code; -ENOMEM. */
static int take_code(struct exchange *call, struct execution *execution)
{
	struct run_bytes code, preload;

	if (!exchange_large(call, "code", true, &code) || code.size == 0)
		return -EINVAL;
	execution->args.code = code;
	if (!exchange_large(call, "preload", true, &preload) || preload.size == 0)
		return 0;
	buf_init(&execution->code, ANSWER_MAX);
	if (buf_append(&execution->code, preload.data, preload.size) < 0 ||
	    buf_text(&execution->code, "\n") < 0 ||
	    buf_append(&execution->code, code.data, code.size) < 0)
		return -ENOMEM;
	execution->args.code = (struct run_bytes){
		.data = execution->code.data,
		.size = execution->code.size,
		.fd = -1,
	};
	return 0;
}

static void run(struct exchange *call)
{
	static const struct ask_calls calls = {.event = take_event, .done = finish};
	static const char *const argv[] = {"main.py", NULL};
	const char *language = json_string_value(exchange_member(call, "language"));
	struct execution *execution = exchange_memory(call, sizeof(*execution));
	int r;

	script_init(&execution->script);
	call->user = execution;
	call->ended = forget;
	call->left = exchange_cancel;
	if (language == NULL || strcmp(language, "python3") != 0) {
		say(call, 200, CODE_BAD, "language: only python3 runs here");
		return;
	}
	if (exchange_is_wrong(call, "preload")) {
		say(call, 200, CODE_BAD, "preload: must be a string");
		return;
	}
	r = take_code(call, execution);
	if (r < 0) {
		say(call, 200, r == -ENOMEM ? CODE_FAILED : CODE_BAD,
		    r == -ENOMEM ? "no memory for the code"
				 : "code: must be a string that is not empty");
		return;
	}
	execution->args.argv = argv;
	exchange_ask(call, &op_run, &execution->args, &calls);
}

/* ---- packages ---- */

static void dependencies(struct exchange *call)
{
	const struct package_list *list = NULL;
	struct err err = {0};
	AUTO_BUF struct buf buf = {.max = ANSWER_MAX};

	if (packages_find(call->engine, NULL, &list, &err) < 0) {
		say(call, 200, CODE_FAILED, "the packages cannot be listed");
		return;
	}
	buf_text(&buf, "{\"code\":0,\"message\":\"success\",\"data\":{\"dependencies\":");
	packages_put(list, &buf);
	buf_text(&buf, "}}");
	if (buf.failed < 0)
		say(call, 200, CODE_FAILED, "no memory for the answer");
	else
		exchange_answer(call, 200, &buf);
}

/* Packages are installed with `viv runtime`, so this does nothing and succeeds. */
static void update(struct exchange *call)
{
	exchange_answer_tree(call, 200,
			     json_pack("{s:i,s:s,s:{}}", "code", 0, "message", "success", "data"));
}

static void health(struct exchange *call)
{
	AUTO_BUF struct buf buf = {.max = 8};

	(void)buf_text(&buf, "\"ok\"");
	exchange_answer(call, 200, &buf);
}

static const struct op_param run_members[] = {
	{.name = "language", .type = OP_TEXT},
	{.name = "code", .type = OP_BYTES},
	{.name = "preload", .type = OP_BYTES},
};

static const struct door_route routes[] = {
	{.method = "POST", .path = "/v1/sandbox/run", DOOR_MEMBERS(run_members), .run = run},
	{.method = "GET", .path = "/v1/sandbox/dependencies", .run = dependencies},
	{.method = "GET", .path = "/v1/sandbox/dependencies/refresh", .run = dependencies},
	{.method = "POST", .path = "/v1/sandbox/dependencies/update", .run = update},
	{.method = "GET", .path = "/health", .is_open = true, .run = health},
};

const struct door door_dify = {
	.name = "dify",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	.config = &dify_config,
	.token_header = "X-Api-Key",
	.refuse = refuse,
};
