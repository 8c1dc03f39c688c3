// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

/* ---- run_python ---- */

static void run_done(struct mcp_call *call, const struct ask_result *result)
{
	if (result->err != NULL)
		mcp_answer_err(call, result->err);
	else
		mcp_answer_run(call, result->value);
}

/* A run in a session cannot change what the session was created with. */
static int check_session_run(const struct run_request *args, struct err *err)
{
	const char *field = NULL;

	if (args->policy != NULL)
		field = "policy";
	else if (args->runtime != NULL)
		field = "runtime";
	else if (args->backend != NULL)
		field = "backend";
	else if (args->limits.memory > 0 || args->limits.cpus_milli > 0 || args->limits.pids > 0 ||
		 args->limits.disk > 0)
		field = "limits";
	if (field == NULL)
		return 0;
	return err_field(
		err, ERR_BAD_REQUEST, EINVAL, field,
		"belongs to the session; give it to create_session, or leave out session_id");
}

static int check_run(const struct run_request *args, struct err *err)
{
	static const char live[] = "live";

	if (args->stdin_bytes.size == strlen(live) && args->stdin_bytes.data != NULL &&
	    memcmp(args->stdin_bytes.data, live, strlen(live)) == 0)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "stdin",
				 "must be complete; over MCP no more can be sent later");
	return args->session != NULL ? check_session_run(args, err) : 0;
}

static void call_run(struct mcp_call *call)
{
	struct run_request args = *(const struct run_request *)mcp_call_args(call);
	struct err err = {0};

	if (check_run(&args, &err) < 0) {
		mcp_answer_err(call, &err);
		return;
	}
	/* A session's files can be read later; those of a run without a session come with its
	 * result. */
	if (args.session == NULL)
		args.return_files = OP_YES;
	mcp_call_run(call, args.session != NULL ? &op_session_run : &op_run, &args, run_done);
}

static const struct mcp_tool tool_run = {
	.name = "run_python",
	.title = "Run Python",
	.help = "Run Python code in a sandbox behind kernel walls: no network, no access to the "
		"host. The code is a notebook cell: the value of its last expression is the "
		"result, matplotlib figures come back as images, and files written below "
		"/workspace as links. Without session_id every call starts fresh; with one, "
		"variables and files stay, and a run that times out or crashes is rolled back.",
	.op = &op_run,
	.also = &op_session_run,
	.without = "|command|detach|return_files|saved_state|save_state|",
	.required = "|code|",
	.tells_session = true,
	.call = call_run,
};

/* ---- sessions ---- */

/* The op's answer, with the id of the session under the name that other tools take. */
static void session_done(struct mcp_call *call, const struct ask_result *result)
{
	AUTO_BUF struct buf out = {.max = result->size + 256};

	(void)buf_format(&out, "{\"session_id\":\"%s\",", result->session);
	(void)buf_append(&out, result->bytes + 1, result->size - 1);
	mcp_answer_json(call, false, NULL, (const char *)out.data, out.size);
}

struct id_args {
	const char *id;
};

static const struct op_param id_params[] = {
	{OP_PARAM(struct id_args, id, .name = "session_id", .type = OP_TEXT, .is_required = true,
		  .help = "id of the session")},
};

static void close_done(struct mcp_call *call, const struct ask_result *result)
{
	const struct id_args *args = mcp_call_args(call);
	AUTO_BUF struct buf out = {.max = KIB};

	(void)result;
	json_put(&out, "{'session_id':%s,'closed':true}", args->id);
	mcp_answer_json(call, false, NULL, (const char *)out.data, out.size);
}

static void call_close(struct mcp_call *call)
{
	const struct id_args *args = mcp_call_args(call);
	const char *const pairs[] = {"id", args->id, NULL};

	mcp_call_op(call, &op_session_delete, pairs, NULL, 0, mcp_op_passed);
}

static const struct mcp_tool tool_create = {
	.name = "create_session",
	.title = "Create a session",
	.help = "Make a session: a sandbox of its own that keeps variables and files between "
		"runs. Give the session_id of the answer to the other tools.",
	.op = &op_session_create,
	.tells_session = true,
	.done = session_done,
};

static const struct mcp_tool tool_list = {
	.name = "list_sessions",
	.title = "List sessions",
	.help = "List your sessions, with their state, runs and memory.",
	.op = &op_session_list,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
};

static const struct mcp_tool tool_close = {
	.name = "close_session",
	.title = "Close a session",
	.help = "End a session: its variables, files and checkpoints are gone.",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct id_args),
	.answer = "Closed",
	.hints = MCP_DESTRUCTIVE,
	.call = call_close,
	.done = close_done,
};

static const struct mcp_tool tool_checkpoint = {
	.name = "checkpoint",
	.title = "Make a checkpoint",
	.help = "Keep the present state of a session (variables and files) under a name, to go "
		"back to it with rollback.",
	.op = &op_checkpoint_make,
};

static const struct mcp_tool tool_checkpoints = {
	.name = "list_checkpoints",
	.title = "List checkpoints",
	.help = "List the states that a session can go back to, with their names and ids.",
	.op = &op_checkpoint_list,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
};

static const struct mcp_tool tool_rollback = {
	.name = "rollback",
	.title = "Roll back",
	.help = "Roll a session back to a checkpoint, by its name or id; later changes are lost. "
		"Files are rolled back, too, unless `files` in the answer says otherwise.",
	.op = &op_rollback,
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.tells_session = true,
	.done = session_done,
};

static const struct mcp_tool tool_fork = {
	.name = "fork_session",
	.title = "Fork a session",
	.help = "Branch a session: each new one starts with the variables as they are now and "
		"goes its own way; files stay shared.",
	.op = &op_fork,
};

static const struct mcp_tool tool_variables = {
	.name = "list_variables",
	.title = "List variables",
	.help = "List the variables of a session with their types, sizes, shapes and columns. "
		"During a run they are those of an earlier state (as_of); with "
		"checkpoint_blocked_by, runs after that state are not in it either.",
	.op = &op_vars_list,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
};

/* ---- explore ---- */

static void explore_done(struct mcp_call *call, const struct ask_result *result)
{
	struct err err = {0};
	enum verdict_kind kind;
	AUTO_BUF struct buf out = {.max = MCP_ANSWER_MAX};

	/* A command that exits with a status other than 0 has worked: grep does so when it finds
	 * nothing. */
	kind = result->value->verdict.kind;
	if (op_explore_answer(result->value, &out, &err) < 0)
		mcp_answer_err(call, &err);
	else
		mcp_answer_json(call, kind != VERDICT_OK && kind != VERDICT_EXIT, NULL,
				(const char *)out.data, out.size);
}

static const struct mcp_tool tool_explore = {
	.name = "explore",
	.title = "Explore a folder",
	.help = "Run a shell command (ls, cat, grep, find, head ...) over a folder that the "
		"administrator shares read-only, in a sandbox without Python. The folder is at "
		"/data.",
	.op = &op_explore,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.done = explore_done,
};

const struct mcp_tool *const mcp_tools[] = {
	&tool_run,        &tool_create,
	&tool_list,       &tool_close,
	&tool_checkpoint, &tool_checkpoints,
	&tool_rollback,   &tool_fork,
	&mcp_tool_write,  &mcp_tool_read,
	&mcp_tool_files,  &tool_variables,
	&tool_explore,    NULL,
};
