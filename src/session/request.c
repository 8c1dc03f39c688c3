// SPDX-License-Identifier: Apache-2.0
#include "session/request.h"

#include <string.h>

#include "base/c.h"
#include "base/json.h"

#define SAVED_TEXT_MAX (RUN_SAVED_MAX / 3 * 4 + 4)

#define ROW(field, ...) OP_PARAM(struct run_request, field, __VA_ARGS__)

/* A person who allows a run sees the parameters in this order. */
const struct op_param run_params[RUN_PARAMS] = {
	{ROW(session, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH, .is_required = true,
	     .help = "id of the session")},
	{ROW(code, .name = "code", .type = OP_BYTES, .is_own = true, .flag = "code", .letter = 'c',
	     .value = "CODE",
	     .help = "Python to run, as a notebook cell: its last value is the result")},
	{ROW(command, .name = "command", .type = OP_BYTES, .is_own = true, .flag = "command",
	     .value = "COMMAND", .help = "shell command to run instead of Python")},
	{ROW(limits.timeout_ms, .name = "timeout_ms", .type = OP_MS, .min = 10, .is_here = true,
	     .flag = "timeout", .value = "30s|1500ms",
	     .help = "end the run after this long, at most what the policy allows")},
	{ROW(limits.output, .name = "limits.output", .type = OP_SIZE, .min = KIB,
	     .help = "bytes of stdout and of stderr that are kept, at most the policy's")},
	{ROW(files_json, .name = "files", .type = OP_FILES, .is_own = true, .meta = "files_json",
	     .flag = "file", .value = "HOST[:DEST]",
	     .help = "file to put below /workspace before the code starts")},
	{ROW(expect, .name = "expect_files", .type = OP_TEXTS, .meta = "expect", .flag = "expect",
	     .value = "PATH", .is_unshown = true,
	     .help = "path that the code should create; the result says if it is missing")},
	{ROW(env, .name = "env", .type = OP_PAIRS, .meta = "env", .flag = "env",
	     .value = "NAME=VALUE",
	     .help = "variable of the code's environment; nothing is inherited")},
	{ROW(args, .name = "args", .type = OP_JSON, .meta = "args", .flag = "args",
	     .value = "JSON|@FILE", .help = "value that the code finds as _args")},
	{ROW(data, .name = "data", .type = OP_TABLE, .is_own = true,
	     .help = "table that the code finds as data and df: {columns, rows}, or a list of "
		     "objects")},
	{ROW(stdin_bytes, .name = "stdin", .type = OP_BYTES, .max = 256 * MIB, .is_own = true,
	     .help = "what the code reads on stdin")},
	{ROW(cwd, .name = "cwd", .type = OP_TEXT, .meta = "cwd",
	     .help = "folder the code starts in (default: /workspace)")},
	{ROW(detach, .name = "detach", .type = OP_BOOL, .is_here = true,
	     .help = "answer with the run's id at once; its events can be read later")},
	{ROW(return_files, .name = "return_files", .type = OP_BOOL, .is_own = true,
	     .help = "send the bytes of new and changed files, too, as base64")},

	/* From here on: parameters that a session has already decided. */
	{ROW(policy, .name = "policy", .type = OP_TEXT, .is_here = true, .flag = "policy",
	     .value = "NAME", .help = "limits, guard and mounts to run under (default: default)")},
	{ROW(runtime, .name = "runtime", .type = OP_TEXT, .flag = "runtime", .value = "NAME",
	     .help = "Python environment (default: auto, the smallest that preloads what the code "
		     "imports)")},
	{ROW(backend, .name = "backend", .type = OP_TEXT, .is_here = true, .flag = "backend",
	     .value = "NAME",
	     .help = "way to build the sandbox (default: auto, the strongest available)")},
	{ROW(limits.memory, .name = "limits.memory", .type = OP_SIZE, .min = 16 * MIB,
	     .flag = "memory", .value = "512M",
	     .help = "memory of the sandbox, at most the policy's")},
	{ROW(limits.cpus_milli, .name = "limits.cpus", .type = OP_CPUS, .min = 10, .flag = "cpus",
	     .value = "0.5", .help = "processors it may use, at most the policy's")},
	{ROW(limits.pids, .name = "limits.pids", .type = OP_COUNT, .min = 4, .flag = "pids",
	     .value = "64", .help = "processes and threads, at most the policy's")},
	{ROW(limits.disk, .name = "limits.disk", .type = OP_SIZE, .min = 64 * KIB,
	     .help = "bytes of /workspace and of /tmp, at most the policy's")},
	{ROW(saved, .name = "saved_state", .type = OP_BYTES, .max = SAVED_TEXT_MAX, .is_here = true,
	     .meta = "saved_state",
	     .help = "variables to continue with: base64, as another run returned them")},
	{ROW(save_state, .name = "save_state", .type = OP_BOOL, .is_here = true,
	     .help = "return the variables, so that another run can continue with them")},
};

static const void *field(const struct run_request *request, const struct op_param *param)
{
	return (const char *)request + param->offset;
}

const struct run_bytes *request_bytes(const struct run_request *request,
				      const struct op_param *param)
{
	switch (param->type) {
	case OP_BYTES:
	case OP_JSON:
	case OP_TABLE:
	case OP_FILES:
		return field(request, param);
	case OP_TEXT:
	case OP_MS:
	case OP_SIZE:
	case OP_COUNT:
	case OP_CPUS:
	case OP_BOOL:
	case OP_TEXTS:
	case OP_PAIRS:
		break;
	}
	return NULL;
}

const char *const *request_texts(const struct run_request *request, const struct op_param *param)
{
	return *(const char *const *const *)field(request, param);
}

bool request_has(const struct run_request *request, const struct op_param *param)
{
	const void *at = field(request, param);
	const char *const *texts = NULL;

	switch (param->type) {
	case OP_BYTES:
	case OP_JSON:
	case OP_TABLE:
	case OP_FILES:
		return request_bytes(request, param)->data != NULL ||
		       request_bytes(request, param)->size > 0;
	case OP_TEXT:
		return *(const char *const *)at != NULL;
	case OP_MS:
	case OP_SIZE:
	case OP_COUNT:
	case OP_CPUS:
		return *(const uint64_t *)at > 0;
	case OP_BOOL:
		return *(const enum op_bool *)at == OP_YES;
	case OP_TEXTS:
	case OP_PAIRS:
		texts = request_texts(request, param);
		return texts != NULL && texts[0] != NULL;
	}
	return false;
}

static void put_texts(const char *const *texts, struct buf *buf)
{
	for (size_t i = 0; texts[i] != NULL; i++) {
		(void)buf_text(buf, i == 0 ? "[" : ",");
		(void)json_put_text(buf, texts[i]);
	}
	(void)buf_text(buf, "]");
}

static void put_pairs(const char *const *pairs, struct buf *buf)
{
	for (size_t i = 0; pairs[i] != NULL; i++) {
		size_t size = strcspn(pairs[i], "=");

		(void)buf_text(buf, i == 0 ? "{" : ",");
		(void)json_put_string(buf, pairs[i], size);
		(void)buf_text(buf, ":");
		(void)json_put_text(buf, pairs[i] + size + (pairs[i][size] == '='));
	}
	(void)buf_text(buf, "}");
}

int request_put(const struct run_request *request, const struct op_param *param, struct buf *buf)
{
	const void *at = field(request, param);

	switch (param->type) {
	case OP_TEXT:
		(void)json_put_text(buf, *(const char *const *)at);
		break;
	case OP_MS:
	case OP_SIZE:
	case OP_COUNT:
		(void)buf_format(buf, "%llu", (unsigned long long)*(const uint64_t *)at);
		break;
	case OP_CPUS:
		(void)buf_format(buf, "%llu.%03llu",
				 (unsigned long long)*(const uint64_t *)at / 1000,
				 (unsigned long long)*(const uint64_t *)at % 1000);
		break;
	case OP_BOOL:
		(void)buf_text(buf, *(const enum op_bool *)at == OP_YES ? "true" : "false");
		break;
	case OP_TEXTS:
		put_texts(request_texts(request, param), buf);
		break;
	case OP_PAIRS:
		put_pairs(request_texts(request, param), buf);
		break;
	case OP_BYTES:
	case OP_JSON:
	case OP_TABLE:
	case OP_FILES:
		break;
	}
	return buf->failed;
}
