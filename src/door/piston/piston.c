// SPDX-License-Identifier: Apache-2.0
#include "door/piston/piston.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/config_table.h"
#include "door/escaped.h"
#include "door/script.h"

#define ANSWER_MAX (4ULL << 30)

/* One call of /execute. */
struct execution {
	struct run_request args;
	struct script script;
};

void piston_say(struct exchange *call, unsigned status, const char *text)
{
	exchange_answer_text(call, status, "message", text);
}

static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	switch (status) {
	case 400:
		piston_say(call, 400, "the body is not a JSON object");
		break;
	case 404:
	case 405:
		piston_say(call, 404, "Not Found");
		break;
	default:
		piston_say(call, status, err->text);
	}
}

/* ---- the version of Python ---- */

static void answer_runtimes(struct exchange *call)
{
	const struct piston *piston = call->state;
	json_t *names = json_array();

	for (size_t i = 0; piston_aliases[i] != NULL; i++)
		(void)json_array_append_new(names, json_string(piston_aliases[i]));
	exchange_answer_tree(call, 200,
			     json_pack("[{s:s,s:s,s:o}]", "language", PISTON_LANGUAGE, "version",
				       piston->version, "aliases", names));
}

static void execute_checked(struct exchange *call);

static void take_version(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct piston *piston = call->state;
	struct escaped text;

	if (result->err != NULL) {
		piston_say(call, exchange_status(result->err), result->err->text);
		return;
	}
	text = escaped_of(result->value->members[RESULT_STDOUT]);
	(void)snprintf(piston->version, sizeof(piston->version), "%.*s", (int)text.size, text.text);
	if (!version_parse(piston->version, &piston->parts)) {
		piston->version[0] = '\0';
		piston_say(call, 500, "could not find out which Python the sandboxes have");
	} else if (call->user != NULL) {
		execute_checked(call);
	} else {
		answer_runtimes(call);
	}
}

static void ask_version(struct exchange *call)
{
	static const char code[] = "import sys; print('%d.%d.%d' % sys.version_info[:3], end='')";
	static const struct ask_calls calls = {.done = take_version};
	struct run_request *args = exchange_memory(call, sizeof(*args));

	args->code = (struct run_bytes){.data = code, .size = sizeof(code) - 1, .fd = -1};
	args->is_probe = true;
	exchange_ask(call, &op_run, args, &calls);
}

static void runtimes(struct exchange *call)
{
	const struct piston *piston = call->state;

	if (piston->version[0] != '\0')
		answer_runtimes(call);
	else
		ask_version(call);
}

/* ---- the answer ---- */

/* Piston's code for how the run ended; NULL for exit code 0. */
static const char *status_of(const struct script *script)
{
	if (script_is(script, "timeout"))
		return "TO";
	if (script_is(script, "output"))
		return "OL";
	if (script_is_stopped(script))
		return "SG";
	if (script->is_out_cut || script->is_err_cut)
		return "OL";
	return script->exit_code != 0 ? "RE" : NULL;
}

static int put_stream(struct buf *buf, const char *name, const struct buf *text)
{
	buf_format(buf, "\"%s\":\"", name);
	buf_append(buf, text->data, text->size);
	buf_text(buf, "\",");
	return buf->failed;
}

static int put_end(struct buf *buf, struct script *script)
{
	const char *status = status_of(script);
	bool is_killed = script_is_stopped(script);
	int signal = script->signal > 0 ? (int)script->signal : SIGKILL;
	const char *name = sigabbrev_np(signal);
	const char *message = buf_string(&script->message);

	if (script->message.size == 0 && (script->is_out_cut || script->is_err_cut))
		message = SCRIPT_CUT;

	if (is_killed)
		buf_format(buf, "\"code\":null,\"signal\":\"SIG%s\",",
			   name != NULL ? name : "KILL");
	else
		buf_format(buf, "\"code\":%lld,\"signal\":null,", (long long)script->exit_code);
	if (status == NULL)
		buf_text(buf, "\"message\":null,\"status\":null,");
	else
		buf_format(buf, "\"message\":\"%s\",\"status\":\"%s\",", message, status);
	buf_format(buf, "\"cpu_time\":%llu,\"wall_time\":%llu,\"memory\":%llu",
		   (unsigned long long)script->cpu_ms, (unsigned long long)script->wall_ms,
		   (unsigned long long)script->memory);
	return buf->failed;
}

static void answer_execution(struct exchange *call, struct script *script)
{
	const struct piston *piston = call->state;
	AUTO_BUF struct buf buf = {.max = ANSWER_MAX};

	buf_format(&buf, "{\"language\":\"" PISTON_LANGUAGE "\",\"version\":\"%s\",\"run\":{",
		   piston->version);
	put_stream(&buf, "stdout", &script->out);
	put_stream(&buf, "stderr", &script->err);
	put_stream(&buf, "output", &script->both);
	put_end(&buf, script);
	buf_text(&buf, "}}");
	if (buf.failed < 0)
		piston_say(call, 500, "no memory for the answer");
	else
		exchange_answer(call, 200, &buf);
}

/* The failure is ours: nothing is known about the code's run. */
static void answer_lost(struct exchange *call, struct script *script)
{
	AUTO_BUF struct buf buf = {.max = ANSWER_MAX};

	if (buf_format(&buf, "{\"message\":\"the run was lost: %s\"}",
		       buf_string(&script->message)) == 0)
		exchange_answer(call, 500, &buf);
	else
		piston_say(call, 500, "the run was lost");
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
		piston_say(call, exchange_status(result->err), result->err->text);
	else if (script_is(script, "backend") || script->kind[0] == '\0')
		answer_lost(call, script);
	else
		answer_execution(call, script);
}

static void execute_checked(struct exchange *call)
{
	static const struct ask_calls calls = {.event = take_event, .done = finish};
	struct execution *execution = call->user;
	struct err err = {0};
	const json_t *body = exchange_json(call, &err);

	if (piston_take(call, body, &execution->args) < 0)
		return;
	call->left = exchange_cancel;
	exchange_ask(call, &op_run, &execution->args, &calls);
}

static void forget(struct exchange *call)
{
	struct execution *execution = call->user;

	script_done(&execution->script);
}

static void execute(struct exchange *call)
{
	const struct piston *piston = call->state;
	struct execution *execution;
	struct err err = {0};
	const json_t *body = exchange_json(call, &err);

	if (body == NULL && (err.kind == ERR_TOO_LARGE || err_is_busy(&err))) {
		piston_say(call, exchange_status(&err), err.text);
		return;
	}
	if (!json_is_object(body)) {
		piston_say(call, 400, "the body is not a JSON object");
		return;
	}
	execution = exchange_memory(call, sizeof(*execution));
	script_init(&execution->script);
	call->user = execution;
	call->ended = forget;
	if (piston->version[0] != '\0')
		execute_checked(call);
	else
		ask_version(call);
}

static const struct door_route routes[] = {
	{.method = "GET", .path = "/api/v2/runtimes", .run = runtimes},
	{.method = "POST", .path = "/api/v2/execute", .run = execute},
};

static int open_piston(struct engine *engine, void **ret_state, struct err *err)
{
	(void)engine;
	(void)err;
	*ret_state = xnew(struct piston);
	return 0;
}

const struct door door_piston = {
	.name = "piston",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	.config = &piston_config,
	.has_cors = true,
	.refuse = refuse,
	.open = open_piston,
	.close = free,
};
