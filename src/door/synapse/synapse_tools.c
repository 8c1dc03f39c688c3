// SPDX-License-Identifier: Apache-2.0
#include "door/synapse/synapse_tools.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "document/vault_text.h"
#include "op/packages.h"
#include "session/engine.h"

#define OUTPUT_CHARS 50000
#define ANSWER_MAX (64U << 20)
#define NAME_MAX_SIZE 100

struct execute_args {
	struct run_bytes code;
	const char *const *packages;
	uint64_t timeout;
	enum op_bool allow_network;
};

/* ---- answers: JSON as text, indented by two; errors as well ---- */

void synapse_tool_answer(struct mcp_call *call, struct buf *take_json)
{
	AUTO_BUF struct buf text = {.max = 2UL * ANSWER_MAX};

	if (vault_indent(take_json->data, take_json->size, &text) == 0)
		mcp_answer_text(call, false, buf_string(&text));
	else
		mcp_answer_text(call, false, buf_string(take_json));
	buf_done(take_json);
}

void synapse_tool_fail(struct mcp_call *call, const char *message)
{
	AUTO_BUF struct buf body = {.max = 64 * KIB};

	if (json_put(&body, "{'error': %s}", message) == 0)
		mcp_answer_text(call, false, buf_string(&body));
	else
		mcp_answer_text(call, true, message);
}

/* ---- runs ---- */

static uint64_t seconds_of(const struct mcp_call *call)
{
	const struct execute_args *args = mcp_call_args(call);
	int64_t asked = args->timeout < SYNAPSE_TOOL_TIMEOUT_MAX_S ? (int64_t)args->timeout
								   : SYNAPSE_TOOL_TIMEOUT_MAX_S;

	return synapse_seconds(mcp_call_engine(call)->config, asked, SYNAPSE_TOOL_TIMEOUT_MAX_S);
}

static int put_result(struct buf *body, const struct mcp_call *call, const struct ending *ending)
{
	const struct execute_args *args = mcp_call_args(call);
	struct ending told = *ending;
	AUTO_BUF struct buf err = {.max = ANSWER_MAX};

	if (args->allow_network == OP_YES)
		(void)buf_text(&err, "vivarium: allow_network was asked for, but sandboxes here "
				     "have no network\\n");
	(void)buf_append(&err, ending->err.text, ending->err.size);
	told.err = (struct escaped){.text = buf_string(&err), .size = err.size};
	buf_format(body, "{\"exit_code\":%d,\"stdout\":", ending->exit_code);
	escaped_put(body, &ending->out, 1, OUTPUT_CHARS);
	buf_text(body, ",\"stderr\":");
	synapse_put_stderr(body, &told, OUTPUT_CHARS);
	buf_text(body, "}");
	return body->failed;
}

static void run_done(struct mcp_call *call, const struct ask_result *result)
{
	struct ending ending;
	AUTO_BUF struct buf body = {.max = ANSWER_MAX};
	char text[600];

	if (result->err != NULL || !ending_read(result->value, &ending)) {
		(void)snprintf(text, sizeof(text), "Sandbox error: %s",
			       result->err != NULL ? result->err->text : "the run has no result");
		synapse_tool_fail(call, text);
		return;
	}
	if (ending_is(&ending, "timeout")) {
		(void)snprintf(text, sizeof(text), "Execution timed out after %llus",
			       (unsigned long long)seconds_of(call));
		synapse_tool_fail(call, text);
		return;
	}
	if (put_result(&body, call, &ending) == 0) {
		synapse_tool_answer(call, &body);
		return;
	}
	synapse_tool_fail(call, "Sandbox error: the output is too large");
}

static void run(struct mcp_call *call)
{
	const struct execute_args *args = mcp_call_args(call);
	const struct run_request run_args = {
		.code = args->code,
		.policy = SYNAPSE_POLICY,
		.limits = {.timeout_ms = seconds_of(call) * 1000},
	};

	mcp_call_run(call, &op_run, &run_args, run_done);
}

/* ---- packages: none can be fetched, so they must be installed ---- */

/* The name without version and extras, normalised as in PEP 503. */
static void plain_name(const char *asked, char ret_name[NAME_MAX_SIZE])
{
	size_t size = strcspn(asked, "[=<>!~;@ ");
	size_t at = 0;

	for (size_t i = 0; i < size && at + 1 < NAME_MAX_SIZE; i++) {
		bool is_joint = strchr("-_.", asked[i]) != NULL;

		if (!is_joint)
			ret_name[at++] = (char)tolower((unsigned char)asked[i]);
		else if (at > 0 && ret_name[at - 1] != '-')
			ret_name[at++] = '-';
	}
	ret_name[at] = '\0';
}

static bool is_installed(const struct package_list *packages, const char *asked)
{
	char wanted[NAME_MAX_SIZE];
	char name[NAME_MAX_SIZE];

	plain_name(asked, wanted);
	for (size_t i = 0; i < packages->count; i++) {
		plain_name(packages->items[i].name, name);
		if (name[0] != '\0' && strcmp(name, wanted) == 0)
			return true;
	}
	return false;
}

/* False: a package is not installed, and the call was answered. */
static bool has_packages(struct mcp_call *call)
{
	const struct execute_args *args = mcp_call_args(call);
	const struct package_list *list = NULL;
	struct err err = {0};
	char text[400];

	if (args->packages == NULL || args->packages[0] == NULL)
		return true;
	if (packages_find(mcp_call_engine(call), NULL, &list, &err) < 0) {
		synapse_tool_fail(call, err.text);
		return false;
	}
	for (const char *const *name = args->packages; *name != NULL; name++) {
		if (is_installed(list, *name))
			continue;
		(void)snprintf(
			text, sizeof(text),
			"Package not installed: %.100s. Sandboxes have no network to fetch it; "
			"the server's administrator can add it: viv runtime add NAME "
			"--requirements FILE",
			*name);
		synapse_tool_fail(call, text);
		return false;
	}
	return true;
}

static void execute(struct mcp_call *call)
{
	const struct execute_args *args = mcp_call_args(call);

	if (synapse_is_blank(args->code.data, args->code.size))
		synapse_tool_fail(call, "No code provided");
	else if (has_packages(call))
		run(call);
}

/* ---- rows ---- */

#define EXECUTE(field, ...)                                                                        \
	{                                                                                          \
		OP_PARAM(struct execute_args, field, .name = #field, __VA_ARGS__)                  \
	}

static const struct op_param execute_rows[] = {
	EXECUTE(code, .type = OP_BYTES, .is_required = true, .help = "Python to run as a script"),
	EXECUTE(packages, .type = OP_TEXTS,
		.help = "package that must be installed; nothing is fetched"),
	EXECUTE(timeout, .type = OP_COUNT, .initial = SYNAPSE_TIMEOUT_S,
		.help = "end it after this many seconds, at most 120"),
	EXECUTE(allow_network, .type = OP_BOOL,
		.help = "has no effect: sandboxes here have no network"),
};

#define HELP                                                                                       \
	"Run Python in a fresh sandbox: 512 MiB, one processor, no network. Files of the vault "   \
	"are "                                                                                     \
	"read-only in /data: the vault's reports/q1.json is /data/reports/q1.json"

#define TOOL(name_)                                                                                \
	static const struct mcp_tool tool_##name_ = {                                              \
		.name = #name_,                                                                    \
		.title = "Run Python",                                                             \
		.help = HELP,                                                                      \
		.params = execute_rows,                                                            \
		.param_count = ARRAY_LEN(execute_rows),                                            \
		.args_size = sizeof(struct execute_args),                                          \
		.answer = "",                                                                      \
		.hints = 0,                                                                        \
		.call = execute,                                                                   \
	}

TOOL(execute_python);
TOOL(tool_code);
TOOL(sandbox_execute);

const struct mcp_tool *const synapse_mcp_tools[] = {
	&tool_execute_python,
	&tool_tool_code,
	&tool_sandbox_execute,
	NULL,
};
