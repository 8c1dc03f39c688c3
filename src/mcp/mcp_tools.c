// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

/* ---- run_python ---- */

static void run_done(struct mcp_call *call, const char *json, size_t size, const struct err *err)
{
	if (err != NULL)
		mcp_answer_err(call, err);
	else
		mcp_answer_run(call, json, size);
}

/* What a session has from its beginning cannot be asked of one of its runs. */
static int check_session_run(const struct op_run_args *args, struct err *err)
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
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "%s: is the session's; give it to create_session, or leave out session_id",
		       field);
}

static int check_run(const struct op_run_args *args, struct err *err)
{
	static const char live[] = "live";

	if (args->stdin_bytes.size == strlen(live) && args->stdin_bytes.data != NULL &&
	    memcmp(args->stdin_bytes.data, live, strlen(live)) == 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "stdin: give all of it; there is nobody here to type more");
	return args->session != NULL ? check_session_run(args, err) : 0;
}

static void call_run(struct mcp_call *call)
{
	struct op_run_args args = *(const struct op_run_args *)mcp_call_args(call);
	struct err err = {0};

	if (check_run(&args, &err) < 0) {
		mcp_answer_err(call, &err);
		return;
	}
	/* Files of a session are read when they are wanted; those of a lone run go with it. */
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

/* The object that an op answered, and the id of the session under the name that tools take. */
static void session_done(struct mcp_call *call, const char *json, size_t size,
			 const struct err *err)
{
	const char *id = NULL;
	size_t id_size = 0;
	struct buf out;

	if (err != NULL) {
		mcp_answer_err(call, err);
		return;
	}
	buf_init(&out, size + 256);
	if (json_find(json, size, "id", &id, &id_size) && id[0] == '"') {
		(void)buf_text(&out, "{\"session_id\":");
		(void)buf_append(&out, id, id_size);
		(void)buf_text(&out, ",");
		(void)buf_append(&out, json + 1, size - 1);
	} else {
		(void)buf_append(&out, json, size);
	}
	mcp_answer_json(call, false, NULL, (const char *)out.data, out.size);
	buf_done(&out);
}

static void call_create(struct mcp_call *call)
{
	mcp_call_op_args(call, &op_session_create, mcp_call_args(call), session_done);
}

static void call_rollback(struct mcp_call *call)
{
	mcp_call_op_args(call, &op_rollback, mcp_call_args(call), session_done);
}

struct id_args {
	const char *id;
};

static const struct op_param id_params[] = {
	{OP_PARAM(struct id_args, id, .name = "session_id", .type = OP_TEXT, .is_required = true,
		  .help = "id of the session")},
};

static void close_done(struct mcp_call *call, const char *json, size_t size, const struct err *err)
{
	const struct id_args *args = mcp_call_args(call);
	struct buf out;

	(void)json;
	(void)size;
	if (err != NULL) {
		mcp_answer_err(call, err);
		return;
	}
	buf_init(&out, KIB);
	(void)buf_text(&out, "{\"session_id\":");
	(void)json_put_text(&out, args->id);
	(void)buf_text(&out, ",\"closed\":true}");
	mcp_answer_json(call, false, NULL, (const char *)out.data, out.size);
	buf_done(&out);
}

static void call_close(struct mcp_call *call)
{
	const struct id_args *args = mcp_call_args(call);
	const char *const pairs[] = {"id", args->id, NULL};

	mcp_call_op(call, &op_session_delete, pairs, NULL, 0, close_done);
}

static const struct mcp_tool tool_create = {
	.name = "create_session",
	.title = "Create a session",
	.help = "Make a session: a sandbox of its own that keeps variables and files between "
		"runs. Give the session_id of the answer to the other tools.",
	.op = &op_session_create,
	.tells_session = true,
	.call = call_create,
};

static const struct mcp_tool tool_list = {
	.name = "list_sessions",
	.title = "List sessions",
	.help = "List the sessions there are, with their state, runs and memory.",
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
};

static const struct mcp_tool tool_checkpoint = {
	.name = "checkpoint",
	.title = "Make a checkpoint",
	.help = "Keep the present state of a session (variables and files) under a name, to go "
		"back to it with rollback.",
	.op = &op_checkpoint_make,
};

static const struct mcp_tool tool_rollback = {
	.name = "rollback",
	.title = "Roll back",
	.help = "Put a session back to the state of a checkpoint. What was done since is lost.",
	.op = &op_rollback,
	.hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
	.tells_session = true,
	.call = call_rollback,
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
	.help = "List the variables of a session with their types, sizes, shapes and columns.",
	.op = &op_vars_list,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
};

/* ---- explore ---- */

static void explore_done(struct mcp_call *call, const char *json, size_t size,
			 const struct err *err)
{
	const char *verdict = NULL, *kind = NULL;
	size_t verdict_size = 0, kind_size = 0;
	bool is_fine;

	if (err != NULL) {
		mcp_answer_err(call, err);
		return;
	}
	/* A command that ends with a status, as grep does when it finds nothing, has worked. */
	is_fine = json_find(json, size, "verdict", &verdict, &verdict_size) &&
		  json_find(verdict, verdict_size, "kind", &kind, &kind_size) &&
		  (strncmp(kind, "\"ok\"", 4) == 0 || strncmp(kind, "\"exit\"", 6) == 0);
	mcp_answer_json(call, !is_fine, NULL, json, size);
}

static void call_explore(struct mcp_call *call)
{
	mcp_call_op_args(call, &op_explore, mcp_call_args(call), explore_done);
}

static const struct mcp_tool tool_explore = {
	.name = "explore",
	.title = "Explore a folder",
	.help = "Run a shell command (ls, cat, grep, find, head ...) over a folder that the "
		"administrator shares read-only, in a sandbox without Python. The folder is at "
		"/data.",
	.op = &op_explore,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.call = call_explore,
};

const struct mcp_tool *const mcp_tools[] = {
	&tool_run,
	&tool_create,
	&tool_list,
	&tool_close,
	&tool_checkpoint,
	&tool_rollback,
	&tool_fork,
	&mcp_tool_write,
	&mcp_tool_read,
	&mcp_tool_files,
	&tool_variables,
	&tool_explore,
	NULL,
};
