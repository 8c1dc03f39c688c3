// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "backend/backend.h"
#include "base/c.h"
#include "op/op.h"

#define TRUST_DEFAULT "local" /* whoever may start viv is one person */

const struct op_param op_run_params[OP_RUN_PARAM_COUNT] = {
	[OP_RUN_CODE] = {"code", OP_BYTES,
			 "Python to run, as a notebook cell: its last value is the "
			 "result"},
	[OP_RUN_COMMAND] = {"command", OP_BYTES, "shell command to run instead of Python"},
	[OP_RUN_POLICY] = {"policy", OP_TEXT,
			   "limits, guard and mounts to run under (default: "
			   "default)"},
	[OP_RUN_RUNTIME] =
		{"runtime", OP_TEXT,
		 "Python environment (default: auto, the smallest that has what the code "
		 "imports)"},
	[OP_RUN_BACKEND] = {"backend", OP_TEXT,
			    "way to build the sandbox (default: auto, the "
			    "strongest there is)"},
	[OP_RUN_TIMEOUT] = {"timeout_ms", OP_MS,
			    "end the run after this long, at most what the "
			    "policy allows"},
	[OP_RUN_MEMORY] = {"limits.memory", OP_SIZE, "memory of the sandbox, at most the policy's"},
	[OP_RUN_CPUS] = {"limits.cpus", OP_CPUS, "processors it may use, at most the policy's"},
	[OP_RUN_PIDS] = {"limits.pids", OP_COUNT, "processes and threads, at most the policy's"},
	[OP_RUN_ARGS] = {"args", OP_JSON, "value of the name _args in the code"},
	[OP_RUN_DATA] = {"data", OP_JSON, "table for the names data and df in the code"},
	[OP_RUN_FILES] = {"files", OP_FILES, "file to put below /workspace before the code starts"},
	[OP_RUN_EXPECT] = {"expect_files", OP_TEXTS,
			   "path that the code should make; told when it is missing"},
	[OP_RUN_STDIN] = {"stdin", OP_BYTES, "what the code reads on stdin"},
	[OP_RUN_ENV] = {"env", OP_PAIRS,
			"variable of the code's environment; nothing is inherited"},
};

/* The policy's pin, if it has one, else what was asked. A name that does not exist is refused. */
static int check_backend(const struct policy *policy, const char *asked, struct err *err)
{
	bool is_pinned = strcmp(policy->backend, "auto") != 0;

	if (asked == NULL || strcmp(asked, "auto") == 0)
		asked = policy->backend;
	if (is_pinned && strcmp(asked, policy->backend) != 0)
		return err_set(err, ERR_FORBIDDEN, EPERM, "backend: the policy %s allows only %s",
			       policy->name, policy->backend);
	if (strcmp(asked, "auto") == 0)
		return 0;
	for (size_t i = 0; backend_table[i] != NULL; i++) {
		if (strcmp(backend_table[i]->name, asked) == 0)
			return 0;
	}
	return err_set(err, ERR_NOT_FOUND, ENOENT,
		       "backend: there is no '%s'; `viv doctor` lists them", asked);
}

static int set_guard(const struct op_context *context, const struct policy *policy, bool is_command,
		     struct run_request *request, struct err *err)
{
	if (!policy->guard_enabled)
		return 0;
	if (is_command)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "command: the policy %s checks imports, so it takes Python only",
			       policy->name);
	request->guard_runtime = config_runtime(context->config, "bare", err);
	if (request->guard_runtime == NULL)
		return err_wrap(err, "the import guard");
	request->guard_block = &policy->guard_block;
	request->guard_allow = &policy->guard_allow;
	return 0;
}

static void set_inputs(const struct op_run_args *args, struct run_request *request)
{
	request->code = args->code;
	request->is_command = args->is_command;
	request->args = args->args;
	request->data = args->data;
	request->data_format = args->data_format;
	request->data_query = args->data_query;
	request->stdin_kind = args->stdin_kind;
	request->stdin_bytes = args->stdin_bytes;
	request->stdin_fd = args->stdin_fd;
	request->env = args->env;
	request->files = args->files;
	request->file_count = args->file_count;
	request->expect = args->expect;
	request->cwd = args->cwd;
	request->want_files = args->want_files;
	request->keep_events = args->keep_events;
}

static int set_kind(const struct op_context *context, const struct op_run_args *args,
		    const struct policy *policy, const struct policy_grant *grant,
		    struct pool_kind *kind, struct err *err)
{
	/* A command names no imports: the smallest runtime, unless one is asked for. */
	const void *code = args->is_command ? "" : args->code.data;
	size_t size = args->is_command ? 0 : args->code.size;
	int r = config_choose_runtime(context->config, policy, args->runtime, code, size,
				      args->data_format != RUN_DATA_NONE, &kind->runtime, err);

	if (r < 0)
		return r;
	kind->trust = policy->trust[0] != '\0' ? policy->trust : TRUST_DEFAULT;
	kind->data = policy->data[0] != '\0' ? policy->data : NULL;
	kind->plan = grant->plan;
	kind->is_cold = args->is_cold;
	return 0;
}

static int run(const struct op_context *context, const void *raw_args,
	       const struct run_calls *calls, void *user, struct run **ret_run, struct err *err)
{
	const struct op_run_args *args = raw_args;
	struct run_request request = {0};
	struct policy_grant grant = {0};
	const struct policy *policy = config_policy(
		context->config, args->policy != NULL ? args->policy : "default", err);
	int r;

	if (policy == NULL)
		return err_wrap(err, "policy");
	if (policy->approve)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "policy: %s wants a person to approve each run, and there is nobody "
			       "to ask here",
			       policy->name);
	r = check_backend(policy, args->backend, err);
	if (r == 0)
		r = policy_narrow(policy, &args->limits, &grant, err);
	if (r == 0)
		r = set_kind(context, args, policy, &grant, &request.kind, err);
	if (r == 0)
		r = set_guard(context, policy, args->is_command, &request, err);
	if (r < 0)
		return r;

	set_inputs(args, &request);
	request.timeout_ms = grant.timeout_ms;
	request.timeout_max_ms = (uint32_t)policy->timeout_max_ms;
	request.output_max = grant.output;
	return run_start(context->pool, &request, calls, user, ret_run, err);
}

const struct op op_run = {
	.name = "run",
	.method = "POST",
	.path = "/v1/run",
	.help = "Run Python code in one fresh sandbox and stream what it prints",
	.params = op_run_params,
	.param_count = ARRAY_LEN(op_run_params),
	.args_size = sizeof(struct op_run_args),
	.run = run,
};
