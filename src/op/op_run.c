// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "backend/backend.h"
#include "base/c.h"
#include "op/flight.h"
#include "op/op.h"
#include "op/op_session.h"
#include "op/saved.h"

#define TRUST_DEFAULT "local" /* whoever may start viv is one person */

#define SAVED_HEAD_MAX (16U << 10)
#define SAVED_TEXT_MAX (RUN_SAVED_MAX / 3 * 4 + 4)

#define RUN(field, ...) OP_PARAM(struct op_run_args, field, __VA_ARGS__)

/* Each row once: a run of its own takes all of them, a run in a session those of its inputs. */
#define ROW_CODE                                                                                   \
	{                                                                                          \
		RUN(code, .name = "code", .type = OP_BYTES,                                        \
		    .help = "Python to run, as a notebook cell: its last value is the "            \
			    "result")                                                              \
	}
#define ROW_COMMAND                                                                                \
	{                                                                                          \
		RUN(command, .name = "command", .type = OP_BYTES,                                  \
		    .help = "shell command to run instead of Python")                              \
	}
#define ROW_POLICY                                                                                 \
	{                                                                                          \
		RUN(policy, .name = "policy", .type = OP_TEXT,                                     \
		    .help = "limits, guard and mounts to run under (default: "                     \
			    "default)")                                                            \
	}
#define ROW_RUNTIME                                                                                \
	{                                                                                          \
		RUN(runtime, .name = "runtime", .type = OP_TEXT,                                   \
		    .help = "Python environment (default: auto, the smallest that has "            \
			    "what the code imports)")                                              \
	}
#define ROW_BACKEND                                                                                \
	{                                                                                          \
		RUN(backend, .name = "backend", .type = OP_TEXT,                                   \
		    .help = "way to build the sandbox (default: auto, the strongest "              \
			    "there is)")                                                           \
	}
#define ROW_TIMEOUT                                                                                \
	{                                                                                          \
		RUN(limits.timeout_ms, .name = "timeout_ms", .type = OP_MS, .min = 10,             \
		    .help = "end the run after this long, at most what the policy "                \
			    "allows")                                                              \
	}
#define ROW_MEMORY                                                                                 \
	{                                                                                          \
		RUN(limits.memory, .name = "limits.memory", .type = OP_SIZE, .min = 16 * MIB,      \
		    .help = "memory of the sandbox, at most the policy's")                         \
	}
#define ROW_CPUS                                                                                   \
	{                                                                                          \
		RUN(limits.cpus_milli, .name = "limits.cpus", .type = OP_CPUS, .min = 10,          \
		    .help = "processors it may use, at most the policy's")                         \
	}
#define ROW_PIDS                                                                                   \
	{                                                                                          \
		RUN(limits.pids, .name = "limits.pids", .type = OP_COUNT, .min = 4,                \
		    .help = "processes and threads, at most the policy's")                         \
	}
#define ROW_DISK                                                                                   \
	{                                                                                          \
		RUN(limits.disk, .name = "limits.disk", .type = OP_SIZE, .min = 64 * KIB,          \
		    .help = "bytes of /workspace and of /tmp, at most the policy's")               \
	}
#define ROW_OUTPUT                                                                                 \
	{                                                                                          \
		RUN(limits.output, .name = "limits.output", .type = OP_SIZE, .min = KIB,           \
		    .help = "bytes of stdout and of stderr that are kept, at most the "            \
			    "policy's")                                                            \
	}
#define ROW_ARGS                                                                                   \
	{                                                                                          \
		RUN(args, .name = "args", .type = OP_JSON,                                         \
		    .help = "value of the name _args in the code")                                 \
	}
#define ROW_DATA                                                                                   \
	{                                                                                          \
		RUN(data, .name = "data", .type = OP_JSON,                                         \
		    .help = "table for the names data and df in the code: {columns, rows}, or a "  \
			    "list of objects")                                                     \
	}
#define ROW_FILES                                                                                  \
	{                                                                                          \
		RUN(files_json, .name = "files", .type = OP_FILES,                                 \
		    .help = "file to put below /workspace before the code starts")                 \
	}
#define ROW_EXPECT                                                                                 \
	{                                                                                          \
		RUN(expect, .name = "expect_files", .type = OP_TEXTS,                              \
		    .help = "path that the code should make; told when it is missing")             \
	}
#define ROW_STDIN                                                                                  \
	{                                                                                          \
		RUN(stdin_bytes, .name = "stdin", .type = OP_BYTES, .max = 256 * MIB,              \
		    .help = "what the code reads on stdin")                                        \
	}
#define ROW_ENV                                                                                    \
	{                                                                                          \
		RUN(env, .name = "env", .type = OP_PAIRS,                                          \
		    .help = "variable of the code's environment; nothing is inherited")            \
	}
#define ROW_CWD                                                                                    \
	{                                                                                          \
		RUN(cwd, .name = "cwd", .type = OP_TEXT,                                           \
		    .help = "folder the code starts in (default: /workspace)")                     \
	}
#define ROW_DETACH                                                                                 \
	{                                                                                          \
		RUN(detach, .name = "detach", .type = OP_BOOL,                                     \
		    .help = "answer with the run's id at once; its events can be read "            \
			    "later")                                                               \
	}
#define ROW_RETURN_FILES                                                                           \
	{                                                                                          \
		RUN(return_files, .name = "return_files", .type = OP_BOOL,                         \
		    .help = "send the bytes of new and changed files, too, as "                    \
			    "base64")                                                              \
	}
#define ROW_SAVED                                                                                  \
	{                                                                                          \
		RUN(saved, .name = "saved_state", .type = OP_BYTES, .max = SAVED_TEXT_MAX,         \
		    .help = "variables to go on with: base64, as another run returned "            \
			    "them")                                                                \
	}
#define ROW_SAVE                                                                                   \
	{                                                                                          \
		RUN(save_state, .name = "save_state", .type = OP_BOOL,                             \
		    .help = "return the variables, for another run to go on with")                 \
	}

const struct op_param op_run_params[OP_RUN_PARAM_COUNT] = {
	[OP_RUN_CODE] = ROW_CODE,       [OP_RUN_COMMAND] = ROW_COMMAND,
	[OP_RUN_POLICY] = ROW_POLICY,   [OP_RUN_RUNTIME] = ROW_RUNTIME,
	[OP_RUN_BACKEND] = ROW_BACKEND, [OP_RUN_TIMEOUT] = ROW_TIMEOUT,
	[OP_RUN_MEMORY] = ROW_MEMORY,   [OP_RUN_CPUS] = ROW_CPUS,
	[OP_RUN_PIDS] = ROW_PIDS,       [OP_RUN_DISK] = ROW_DISK,
	[OP_RUN_OUTPUT] = ROW_OUTPUT,   [OP_RUN_ARGS] = ROW_ARGS,
	[OP_RUN_DATA] = ROW_DATA,       [OP_RUN_FILES] = ROW_FILES,
	[OP_RUN_EXPECT] = ROW_EXPECT,   [OP_RUN_STDIN] = ROW_STDIN,
	[OP_RUN_ENV] = ROW_ENV,         [OP_RUN_CWD] = ROW_CWD,
	[OP_RUN_DETACH] = ROW_DETACH,   [OP_RUN_RETURN_FILES] = ROW_RETURN_FILES,
	[OP_RUN_SAVED] = ROW_SAVED,     [OP_RUN_SAVE] = ROW_SAVE,
};

static const struct op_param session_run_params[] = {
	{RUN(session, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH, .is_required = true,
	     .help = "id of the session")},
	ROW_CODE,
	ROW_COMMAND,
	ROW_TIMEOUT,
	ROW_OUTPUT,
	ROW_ARGS,
	ROW_DATA,
	ROW_FILES,
	ROW_EXPECT,
	ROW_STDIN,
	ROW_ENV,
	ROW_CWD,
	ROW_DETACH,
	ROW_RETURN_FILES,
};

static bool is_command(const struct op_run_args *args)
{
	return args->command.data != NULL;
}

/* The policy's pin, if it has one, else what was asked. A name that does not exist is refused. */
int op_check_backend(const struct policy *policy, const char *asked, struct err *err)
{
	bool is_pinned = strcmp(policy->backend, "auto") != 0;

	if (asked == NULL || strcmp(asked, "auto") == 0)
		asked = policy->backend;
	if (is_pinned && strcmp(asked, policy->backend) != 0)
		return err_set(err, ERR_FORBIDDEN, EPERM, "backend: the policy %s allows only %s",
			       policy->name, policy->backend);
	if (strcmp(asked, "auto") == 0)
		return 0;
	if (backend_find(asked) != NULL)
		return 0;
	return err_set(err, ERR_NOT_FOUND, ENOENT,
		       "backend: there is no '%s'; `viv doctor` lists them", asked);
}

const char *op_backend_pin(const struct policy *policy, const char *asked)
{
	return asked != NULL && strcmp(asked, "auto") != 0 ? asked : policy->backend;
}

const struct policy *op_policy(const struct config *config, const struct op_caller *caller,
			       const char *asked, struct err *err)
{
	const struct config_token *token = caller != NULL ? caller->token : NULL;
	const struct policy *policy = NULL;

	return config_choose_policy(config, token, asked, &policy, err) == 0 ? policy : NULL;
}

int op_check_alone(const struct config *config, const char *asked, struct err *err)
{
	const struct policy *policy = op_policy(config, NULL, asked, err);

	if (policy == NULL)
		return -err->num;
	return policy->approve
		       ? err_set(err, ERR_FORBIDDEN, EPERM,
				 "policy: under %s a person allows each run, which takes a daemon: "
				 "start `viv serve`",
				 policy->name)
		       : 0;
}

const char *op_trust(const struct policy *policy, const struct op_caller *caller)
{
	if (policy->trust[0] != '\0')
		return policy->trust;
	return caller != NULL && caller->name[0] != '\0' ? caller->name : TRUST_DEFAULT;
}

static int set_guard(const struct config *config, const struct policy *policy,
		     struct run_request *request, struct err *err)
{
	if (!policy->guard_enabled)
		return 0;
	if (request->is_command)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "command: the policy %s checks imports, so it takes Python only",
			       policy->name);
	request->guard_runtime = config_runtime(config, "bare", err);
	if (request->guard_runtime == NULL)
		return err_wrap(err, "the import guard");
	request->guard_block = &policy->guard_block;
	request->guard_allow = &policy->guard_allow;
	request->is_guard_strict = policy->guard_strict;
	return 0;
}

static void set_inputs(const struct op_run_args *args, struct run_request *request)
{
	request->is_command = is_command(args);
	request->code = request->is_command ? args->command : args->code;
	request->lead = args->lead;
	request->tail = args->tail;
	request->tool = args->tool;
	request->args = args->args;
	request->files_json = args->files_json;
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
	request->returns_files = args->return_files == OP_YES;
	request->saved = args->saved;
	if (args->save_state == OP_YES)
		request->saved_max = args->saved_max > 0 ? args->saved_max : RUN_SAVED_MAX;
	request->stand_ins = args->stand_ins;
	request->keep_events = args->keep_events;
	request->is_sidecar = args->is_sidecar;
	request->argv = args->argv;
}

static int set_kind(const struct config *config, const struct op_run_args *args,
		    const struct policy *policy, const struct policy_grant *grant,
		    struct box_kind *kind, struct err *err)
{
	/* A command names no imports: the smallest runtime, unless one is asked for. */
	const void *code = is_command(args) ? "" : args->code.data;
	size_t size = is_command(args) ? 0 : args->code.size;
	bool has_data = args->data_format != RUN_DATA_NONE;
	struct buf both; /* what a saved state needs, and the code: looked at for their imports */
	int r;

	buf_init(&both, size + SAVED_HEAD_MAX);
	if (args->saved.data != NULL) {
		saved_imports(args->saved.data, args->saved.size, &both);
		if (buf_append(&both, code, size) == 0) {
			code = both.data;
			size = both.size;
		}
	}
	r = config_choose_runtime(config, policy, args->runtime, code, size, has_data,
				  &kind->runtime, err);
	buf_done(&both);

	if (r < 0)
		return r;
	kind->data = policy->data[0] != '\0' ? policy->data : NULL;
	kind->plan = grant->plan;
	kind->is_cold = args->is_cold;
	return 0;
}

int op_run_request(const struct config *config, const struct op_caller *caller,
		   const struct op_run_args *args, struct run_request *request, struct err *err)
{
	struct policy_grant grant = {0};
	const struct policy *policy = op_policy(config, caller, args->policy, err);
	int r;

	if (policy == NULL)
		return -err->num;
	set_inputs(args, request);
	r = op_check_backend(policy, args->backend, err);
	if (r == 0)
		r = policy_narrow(policy, &args->limits, &grant, err);
	if (r == 0)
		r = set_kind(config, args, policy, &grant, &request->kind, err);
	if (r == 0)
		r = set_guard(config, policy, request, err);
	if (r < 0)
		return r;
	request->kind.trust = op_trust(policy, caller);
	request->is_forwarded = caller != NULL && caller->is_forwarded;
	request->backend = op_backend_pin(policy, args->backend);
	request->runtime = args->runtime != NULL ? args->runtime : policy->runtime;
	request->timeout_ms = grant.timeout_ms;
	request->timeout_max_ms = (uint32_t)policy->timeout_max_ms;
	request->output_max = grant.output;
	return 0;
}

int op_run_start(const struct config *config, struct pool *pool, const struct op_run_args *args,
		 const struct run_calls *calls, void *user, struct run **ret_run, struct err *err)
{
	struct run_request request = {0};
	int r = args->is_probe ? 0 : op_check_alone(config, args->policy, err);

	if (r == 0)
		r = op_run_request(config, NULL, args, &request, err);
	return r < 0 ? r : run_start(pool, &request, calls, user, ret_run, err);
}

static void call_run(struct op_call *call)
{
	flight_take_off(call, call->args, NULL);
}

static void call_session_run(struct op_call *call)
{
	const struct op_run_args *args = call->args;
	struct session *session = op_session_find(call, args->session);

	if (session != NULL)
		flight_take_off(call, args, session);
}

const struct op op_run = {
	.name = "run",
	.method = "POST",
	.path = "/v1/run",
	.help = "Run Python code in one fresh sandbox and stream what it prints",
	.params = op_run_params,
	.param_count = ARRAY_LEN(op_run_params),
	.args_size = sizeof(struct op_run_args),
	.answer = "Result",
	.also = "202 RunId",
	.is_stream = true,
	.call = call_run,
};

const struct op op_session_run = {
	.name = "session.run",
	.method = "POST",
	.path = "/v1/sessions/{id}/run",
	.help = "Run Python code in a session; runs of one session happen in order",
	.params = session_run_params,
	.param_count = ARRAY_LEN(session_run_params),
	.args_size = sizeof(struct op_run_args),
	.answer = "Result",
	.also = "202 RunId",
	.is_stream = true,
	.call = call_session_run,
};
