// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/elitea/elitea.h"
#include "mcp/mcp.h"
#include "op/flight.h"
#include "op/op_session.h"

#define ANSWER_MAX (256UL << 20)
#define PACKAGES_TEXT_MAX (64UL << 10)
#define KEY "elitea" /* of what an MCP session remembers */
#define FAILED "Execution failed"

struct args {
	struct run_bytes code;
	const char *session;
};

/* One call on its way. */
struct work {
	struct elitea_run run;
	char session[ID_SIZE]; /* "": none */
	mcp_op_done *done;     /* of a run in it */
	bool is_ours;          /* it is the MCP session's, which the client does not know */
	bool is_anew;          /* ... and the one before had ended */
};

static const struct op_param code_params[] = {
	{OP_PARAM(struct args, code, .name = "code", .type = OP_BYTES, .is_required = true,
		  .help = "Python to run; the value of its last expression is the result")},
};

static const struct op_param plain_params[] = {
	{OP_PARAM(struct args, code, .name = "code", .type = OP_BYTES, .is_required = true,
		  .help = "Python to run; print() what you want to see")},
};

static const struct op_param stateful_params[] = {
	{OP_PARAM(struct args, code, .name = "code", .type = OP_BYTES, .is_required = true,
		  .help = "Python to run; the value of its last expression is the result")},
	{OP_PARAM(struct args, session, .name = "session_id", .type = OP_TEXT,
		  .help = "session to go on with, as an earlier answer had it")},
};

/* ---- answers ---- */

/* "Execution time: 1.23s, Packages: a, b" as a JSON string. */
static int put_info(const struct work *work, const struct ending *ending, struct buf *buf)
{
	json_auto_t *packages = NULL;
	const json_t *item = NULL;
	struct buf text;
	size_t i = 0;
	int r;

	if (ending->packages.size > 0 && ending->packages.size <= PACKAGES_TEXT_MAX)
		packages = json_loadb(ending->packages.at, ending->packages.size, 0, NULL);
	buf_init(&text, 2 * PACKAGES_TEXT_MAX);
	r = buf_format(&text, "Execution time: %.2fs", ending->usage.wall_ms / 1000);
	json_array_foreach(packages, i, item) {
		if (r == 0 && json_is_string(item))
			r = buf_format(&text, "%s%s",
				       i > 0 ? ", " : ", Packages: ", json_string_value(item));
	}
	if (r == 0 && work->is_anew)
		r = buf_text(&text, ", a new session: the one before had ended");
	if (r == 0)
		r = json_put_string(buf, text.data, text.size);
	buf_done(&text);
	return r;
}

static bool has_charts(const struct ending *ending)
{
	return ending->charts.size > strlen("[]");
}

/* {result, output, error, status, charts, execution_info}, each where there is something to say. */
static int put_dict(const struct work *work, const struct ending *ending, struct buf *buf)
{
	bool is_ok = ending_is(ending, "ok");
	int r = buf_text(buf, "{");

	if (r == 0 && is_ok && ending->value.size > 0 && ending->value.at[0] != 'n')
		r = buf_format(buf, "\"result\":%.*s,", (int)ending->value.size, ending->value.at);
	if (r == 0 && ending->out.size > 0)
		r = buf_text(buf, "\"output\":");
	if (r == 0 && ending->out.size > 0)
		r = elitea_put_output(ending, buf);
	if (r == 0 && ending->out.size > 0)
		r = buf_text(buf, ",");
	if (r == 0 && has_charts(ending))
		r = buf_text(buf, "\"charts\":");
	if (r == 0 && has_charts(ending))
		r = mcp_put_charts(buf, ending->charts.at, ending->charts.size);
	if (r == 0 && has_charts(ending))
		r = buf_text(buf, ",");
	if (r == 0 && !is_ok)
		r = buf_text(buf, "\"error\":");
	if (r == 0 && !is_ok)
		r = elitea_put_error(&work->run, ending, buf);
	if (r == 0 && !is_ok)
		r = buf_text(buf, ",\"status\":\"" FAILED "\",");
	if (r == 0 && work->session[0] != '\0' && !work->is_ours)
		r = buf_format(buf, "\"session_id\":\"%s\",", work->session);
	if (r == 0)
		r = buf_text(buf, "\"execution_info\":");
	if (r == 0)
		r = put_info(work, ending, buf);
	return r == 0 ? buf_text(buf, "}") : r;
}

/* What langchain-sandbox's tool says: stdout, or what went wrong. */
static int put_plain(const struct work *work, const struct ending *ending, struct buf *buf)
{
	bool is_ok = ending_is(ending, "ok");
	struct buf text;
	int r = buf_text(buf, "\"content\":[{\"type\":\"text\",\"text\":\"");

	buf_init(&text, ANSWER_MAX);
	if (r == 0 && !is_ok)
		r = buf_text(buf, "Error during execution: ");
	if (r == 0)
		r = is_ok ? elitea_put_output(ending, &text)
			  : elitea_put_error(&work->run, ending, &text);
	/* Two strings become one: the quote that opens the second one goes. */
	if (r == 0)
		r = buf_append(buf, text.data + 1, text.size - 1);
	buf_done(&text);
	if (r == 0)
		r = buf_text(buf, "}");
	if (r == 0)
		r = mcp_put_images(buf, ending->charts.at, ending->charts.size);
	return r == 0 ? buf_format(buf, "],\"isError\":%s", is_ok ? "false" : "true") : r;
}

static void end(struct mcp_call *call)
{
	free(mcp_call_state(call));
	mcp_call_set_state(call, NULL);
}

/* No run came of it. A session that is there all the same is told, else nobody could end it. */
static void refuse(struct mcp_call *call, const char *why)
{
	const struct work *work = mcp_call_state(call);
	const struct args *args = mcp_call_args(call);
	struct buf dict;

	buf_init(&dict, 64 * KIB);
	(void)buf_text(&dict, "{\"error\":");
	(void)json_put_text(&dict, why);
	(void)buf_text(&dict, ",\"status\":\"" FAILED "\",");
	if (work != NULL && work->session[0] != '\0' && !work->is_ours && args->session == NULL)
		(void)buf_format(&dict, "\"session_id\":\"%s\",", work->session);
	(void)buf_text(&dict, "\"execution_info\":\"Execution time: 0.00s\"}");
	end(call);
	mcp_answer_json(call, true, NULL, (const char *)dict.data, dict.size);
	buf_done(&dict);
}

/* The dict as a text, the pictures behind it, and the dict. */
static int put_members(const struct buf *dict, const struct ending *ending, struct buf *buf)
{
	int r = buf_text(buf, "\"content\":[{\"type\":\"text\",\"text\":");

	if (r == 0)
		r = json_put_string(buf, dict->data, dict->size);
	if (r == 0)
		r = buf_text(buf, "}");
	if (r == 0)
		r = mcp_put_images(buf, ending->charts.at, ending->charts.size);
	if (r == 0)
		r = buf_text(buf, "],\"structuredContent\":");
	if (r == 0)
		r = buf_append(buf, dict->data, dict->size);
	return r == 0 && !ending_is(ending, "ok") ? buf_text(buf, ",\"isError\":true") : r;
}

static void answer_dict(struct mcp_call *call, const char *json, size_t size, const struct err *err)
{
	struct ending ending;
	struct buf members;
	struct buf dict;

	if (err != NULL) {
		refuse(call, err->text);
		return;
	}
	buf_init(&dict, ANSWER_MAX);
	buf_init(&members, ANSWER_MAX);
	(void)ending_read(json, size, &ending);
	if (put_dict(mcp_call_state(call), &ending, &dict) < 0 ||
	    put_members(&dict, &ending, &members) < 0) {
		buf_done(&members);
		refuse(call, "the answer is too large");
	} else {
		end(call);
		mcp_answer_members(call, &members);
	}
	buf_done(&dict);
}

static void answer_plain(struct mcp_call *call, const char *json, size_t size,
			 const struct err *err)
{
	struct ending ending;
	char text[sizeof(err->text) + 32];
	struct buf members;

	buf_init(&members, ANSWER_MAX);
	if (err != NULL) {
		(void)snprintf(text, sizeof(text), "Error during execution: %s", err->text);
		end(call);
		mcp_answer_text(call, true, text);
		return;
	}
	(void)ending_read(json, size, &ending);
	if (put_plain(mcp_call_state(call), &ending, &members) < 0) {
		end(call);
		mcp_answer_text(call, true, "Error during execution: the answer is too large");
		buf_done(&members);
		return;
	}
	end(call);
	mcp_answer_members(call, &members);
}

/* ---- calls ---- */

/* NULL: there are too many, and `ret_why` says so. */
static struct work *begin(struct mcp_call *call, char *ret_why, size_t room)
{
	const struct args *args = mcp_call_args(call);
	const struct engine *engine = mcp_call_engine(call);
	struct elitea_limits limits;
	struct work *work = NULL;

	elitea_limits_read(engine->config, &limits);
	if (!elitea_admits(&limits, elitea_running(engine, mcp_call_caller(call)), ret_why, room))
		return NULL;
	work = xnew(struct work);
	work->run.args.code = args->code;
	elitea_prepare(&limits, engine->config, mcp_call_caller(call), &work->run);
	mcp_call_set_state(call, work);
	return work;
}

static void call_lone(struct mcp_call *call)
{
	char why[200];
	struct work *work = begin(call, why, sizeof(why));

	if (work == NULL)
		refuse(call, why);
	else
		mcp_call_run(call, &op_run, &work->run.args, answer_dict);
}

static void call_plain(struct mcp_call *call)
{
	struct err err = {0};
	struct work *work = begin(call, err.text, sizeof(err.text));

	if (work == NULL)
		answer_plain(call, NULL, 0, &err);
	else
		mcp_call_run(call, &op_run, &work->run.args, answer_plain);
}

static void run_in_session(struct mcp_call *call, struct work *work)
{
	work->run.args.session = work->session;
	work->run.args.policy = NULL; /* the session's, and so are its limits */
	work->run.args.limits.memory = 0;
	mcp_call_run(call, &op_session_run, &work->run.args, work->done);
}

static void session_made(struct mcp_call *call, const char *json, size_t size,
			 const struct err *err)
{
	struct work *work = mcp_call_state(call);
	const char *id = NULL;
	size_t id_size = 0;

	if (err != NULL) {
		refuse(call, err->text);
		return;
	}
	if (!json_find(json, size, "id", &id, &id_size) || id_size - 2 >= sizeof(work->session)) {
		refuse(call, "the session has no id");
		return;
	}
	memcpy(work->session, id + 1, id_size - 2);
	work->session[id_size - 2] = '\0';
	work->is_ours = mcp_call_has_session(call);
	if (work->is_ours)
		mcp_call_remember(call, KEY, work->session);
	run_in_session(call, work);
}

static void make_session(struct mcp_call *call, struct work *work)
{
	const struct op_create_args create = {.policy = work->run.args.policy};

	mcp_call_op_args(call, &op_session_create, &create, session_made);
}

static void stateful_done(struct mcp_call *call, const char *json, size_t size,
			  const struct err *err)
{
	struct work *work = mcp_call_state(call);

	/* The client never knew of that session: it cannot ask for another one. */
	if (err != NULL && err->kind == ERR_NOT_FOUND && work->is_ours && !work->is_anew) {
		work->is_anew = true;
		make_session(call, work);
		return;
	}
	answer_dict(call, json, size, err);
}

static void call_stateful(struct mcp_call *call)
{
	const struct args *args = mcp_call_args(call);
	const char *known = args->session;
	char why[200];
	struct work *work = begin(call, why, sizeof(why));

	if (work == NULL) {
		refuse(call, why);
		return;
	}
	work->done = stateful_done;
	if (known == NULL) {
		known = mcp_call_recall(call, KEY);
		work->is_ours = known != NULL;
	}
	if (known == NULL) {
		make_session(call, work);
		return;
	}
	(void)snprintf(work->session, sizeof(work->session), "%s", known);
	run_in_session(call, work);
}

/* ---- the tools ---- */

#define SHARED_HELP                                                                                \
	"There is no network, and nothing of the host. What is printed is the output; the value "  \
	"of the last expression is the result. `await` works at the top of the code."

static const struct mcp_tool tool_lone = {
	.name = "pyodide_sandbox",
	.title = "Python sandbox",
	.help = "Run Python code in a fresh sandbox: nothing stays from call to call. " SHARED_HELP,
	.params = code_params,
	.param_count = ARRAY_LEN(code_params),
	.args_size = sizeof(struct args),
	.answer = "EliteaResult",
	.call = call_lone,
};

static const struct mcp_tool tool_stateful = {
	.name = "stateful_pyodide_sandbox",
	.title = "Python sandbox that remembers",
	.help = "Run Python code in a sandbox that keeps variables, imports, functions and files "
		"from call to call, also after code that failed. " SHARED_HELP,
	.params = stateful_params,
	.param_count = ARRAY_LEN(stateful_params),
	.args_size = sizeof(struct args),
	.answer = "EliteaResult",
	.call = call_stateful,
};

static const struct mcp_tool tool_plain = {
	.name = "python_code_sandbox",
	.title = "Python code sandbox",
	.help = "Run Python code in a fresh sandbox and get what it printed: print() what you want "
		"to see. There is no network, and nothing stays from call to call.",
	.params = plain_params,
	.param_count = ARRAY_LEN(plain_params),
	.args_size = sizeof(struct args),
	.answer = "",
	.call = call_plain,
};

const struct mcp_tool *const elitea_tools[] = {&tool_lone, &tool_stateful, &tool_plain, NULL};
