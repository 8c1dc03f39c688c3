// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/elitea/elitea.h"
#include "mcp/mcp.h"
#include "op/op_session.h"

#define ANSWER_MAX (256UL << 20)
#define PACKAGES_TEXT_MAX (64UL << 10)
#define KEY "elitea" /* under which an MCP session remembers ours */
#define FAILED "Execution failed"

struct args {
	struct run_bytes code;
	const char *session;
};

/* One call under way. */
struct work {
	struct elitea_run run;
	char session[ID_SIZE]; /* "": none */
	mcp_op_done *done;     /* for a run in the session */
	bool is_ours; /* the session belongs to the MCP session; the client does not know it */
	bool is_anew; /* it replaces one that had ended */
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
		  .help = "session to continue, from an earlier answer")},
};

/* ---- answers ---- */

/* Appends "Execution time: 1.23s, Packages: a, b" as a JSON string. */
static int put_info(const struct work *work, const struct ending *ending, struct buf *buf)
{
	json_auto_t *packages = NULL;
	const json_t *item = NULL;
	AUTO_BUF struct buf text = {.max = 2 * PACKAGES_TEXT_MAX};
	size_t i = 0;

	if (ending->packages.size > 0 && ending->packages.size <= PACKAGES_TEXT_MAX)
		packages = json_loadb(ending->packages.at, ending->packages.size, 0, NULL);
	buf_format(&text, "Execution time: %.2fs", ending->usage.wall_ms / 1000);
	json_array_foreach(packages, i, item) {
		if (json_is_string(item))
			buf_format(&text, "%s%s",
				   i > 0 ? ", " : ", Packages: ", json_string_value(item));
	}
	if (work->is_anew)
		buf_text(&text, ", a new session: the previous one had ended");
	if (text.failed == 0)
		json_put_string(buf, text.data, text.size);
	else
		buf->failed = text.failed;
	return buf->failed;
}

static bool has_charts(const struct ending *ending)
{
	return ending->charts.size > strlen("[]");
}

/* Appends {result, output, error, status, charts, execution_info}, without empty members. */
static int put_dict(const struct work *work, const struct ending *ending, struct buf *buf)
{
	bool is_ok = ending_is(ending, "ok");

	buf_text(buf, "{");
	if (is_ok && ending->value.size > 0 && ending->value.at[0] != 'n')
		buf_format(buf, "\"result\":%.*s,", (int)ending->value.size, ending->value.at);
	if (ending->out.size > 0) {
		buf_text(buf, "\"output\":");
		elitea_put_output(ending, buf);
		buf_text(buf, ",");
	}
	if (has_charts(ending)) {
		buf_text(buf, "\"charts\":");
		mcp_put_charts(buf, ending->charts);
		buf_text(buf, ",");
	}
	if (!is_ok) {
		buf_text(buf, "\"error\":");
		elitea_put_error(&work->run, ending, buf);
		json_put(buf, ",'status':'" FAILED "',");
	}
	if (work->session[0] != '\0' && !work->is_ours)
		json_put(buf, "'session_id':%s,", work->session);
	buf_text(buf, "\"execution_info\":");
	put_info(work, ending, buf);
	return json_put(buf, "}");
}

/* Appends what langchain-sandbox's tool answers: stdout, or the error. */
static int put_plain(const struct work *work, const struct ending *ending, struct buf *buf)
{
	bool is_ok = ending_is(ending, "ok");
	AUTO_BUF struct buf text = {.max = ANSWER_MAX};

	json_put(buf, is_ok ? "'content':[{'type':'text','text':'"
			    : "'content':[{'type':'text','text':'Error during execution: ");
	if ((is_ok ? elitea_put_output(ending, &text)
		   : elitea_put_error(&work->run, ending, &text)) == 0)
		/* Two strings become one: the opening quote of the second is skipped. */
		buf_append(buf, text.data + 1, text.size - 1);
	else
		buf->failed = text.failed;
	buf_text(buf, "}");
	mcp_put_images(buf, ending->charts);
	return json_put(buf, "],'isError':%i", !is_ok);
}

static void end(struct mcp_call *call)
{
	free(mcp_call_state(call));
	mcp_call_set_state(call, NULL);
}

/* Answers a call without a run. If a session was made, its id is in the answer: otherwise nobody
 * could end it. */
static void refuse(struct mcp_call *call, const char *why)
{
	const struct work *work = mcp_call_state(call);
	const struct args *args = mcp_call_args(call);
	AUTO_BUF struct buf dict = {.max = 64 * KIB};

	json_put(&dict, "{'error':%s,'status':'" FAILED "',", why);
	if (work != NULL && work->session[0] != '\0' && !work->is_ours && args->session == NULL)
		json_put(&dict, "'session_id':%s,", work->session);
	json_put(&dict, "'execution_info':'Execution time: 0.00s'}");
	end(call);
	mcp_answer_json(call, true, NULL, (const char *)dict.data, dict.size);
}

/* The dict as text, then the pictures, then the dict as structuredContent. */
static int put_members(const struct buf *dict, const struct ending *ending, struct buf *buf)
{
	json_put(buf, "'content':[{'type':'text','text':");
	json_put_string(buf, dict->data, dict->size);
	buf_text(buf, "}");
	mcp_put_images(buf, ending->charts);
	buf_text(buf, "],\"structuredContent\":");
	buf_append(buf, dict->data, dict->size);
	return json_put(buf, ending_is(ending, "ok") ? "" : ",'isError':true");
}

static void answer_dict(struct mcp_call *call, const struct ask_result *result)
{
	struct ending ending;
	AUTO_BUF struct buf members = {.max = ANSWER_MAX};
	AUTO_BUF struct buf dict = {.max = ANSWER_MAX};

	if (result->err != NULL) {
		refuse(call, result->err->text);
		return;
	}
	(void)ending_read(result->value, &ending);
	if (put_dict(mcp_call_state(call), &ending, &dict) < 0 ||
	    put_members(&dict, &ending, &members) < 0) {
		refuse(call, "the answer is too large");
	} else {
		end(call);
		mcp_answer_members(call, &members);
	}
}

static void answer_plain(struct mcp_call *call, const struct ask_result *result)
{
	const struct err *err = result->err;
	struct ending ending;
	char text[sizeof(err->text) + 32];
	AUTO_BUF struct buf members = {.max = ANSWER_MAX};

	if (err != NULL) {
		(void)snprintf(text, sizeof(text), "Error during execution: %s", err->text);
		end(call);
		mcp_answer_text(call, true, text);
		return;
	}
	(void)ending_read(result->value, &ending);
	if (put_plain(mcp_call_state(call), &ending, &members) < 0) {
		end(call);
		mcp_answer_text(call, true, "Error during execution: the answer is too large");
		return;
	}
	end(call);
	mcp_answer_members(call, &members);
}

/* ---- calls ---- */

/* NULL: too many runs, and `ret_why` says so. */
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
		answer_plain(call, &(struct ask_result){.err = &err});
	else
		mcp_call_run(call, &op_run, &work->run.args, answer_plain);
}

static void run_in_session(struct mcp_call *call, struct work *work)
{
	work->run.args.session = work->session;
	work->run.args.policy = NULL; /* the session has its own, and its own limits */
	work->run.args.limits.memory = 0;
	mcp_call_run(call, &op_session_run, &work->run.args, work->done);
}

static void session_made(struct mcp_call *call, const struct ask_result *result)
{
	struct work *work = mcp_call_state(call);

	if (result->err != NULL) {
		refuse(call, result->err->text);
		return;
	}
	(void)snprintf(work->session, sizeof(work->session), "%s", result->session);
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

static void stateful_done(struct mcp_call *call, const struct ask_result *result)
{
	struct work *work = mcp_call_state(call);
	const struct err *err = result->err;

	/* The client never knew that session's id, so it cannot ask for a new one. */
	if (err != NULL && err->kind == ERR_NOT_FOUND && work->is_ours && !work->is_anew) {
		work->is_anew = true;
		make_session(call, work);
		return;
	}
	answer_dict(call, result);
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
	"There is no network and no access to the host. What is printed is the output; the value " \
	"of the last expression is the result. `await` works at the top of the code."

#define ANSWER_MEMBERS                                                                             \
	"result:any output:text error:text status:text charts:any[] execution_info!:text "         \
	"session_id:text"

static const struct mcp_tool tool_lone = {
	.name = "pyodide_sandbox",
	.title = "Python sandbox",
	.help = "Run Python code in a fresh sandbox: nothing stays from call to call. " SHARED_HELP,
	.params = code_params,
	.param_count = ARRAY_LEN(code_params),
	.args_size = sizeof(struct args),
	.members = ANSWER_MEMBERS,
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
	.members = ANSWER_MEMBERS,
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
