// SPDX-License-Identifier: Apache-2.0
/*
 * Op - one thing a client can ask for, as a row
 *
 * Owns:    names, types and help of what an op takes. Every door calls the same ops, and every help
 *          text comes from these rows.
 * May not: know which door a call came through.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "policy/config.h"
#include "session/pool.h"
#include "session/run.h"

enum op_type {
	OP_TEXT,
	OP_BYTES, /* any bytes: code, files, stdin */
	OP_JSON,  /* any JSON value, never built as a tree */
	OP_MS,
	OP_SIZE,
	OP_COUNT,
	OP_CPUS,
	OP_TEXTS, /* a list of texts */
	OP_PAIRS, /* names and texts */
	OP_FILES, /* a list of paths and bytes */
};

struct op_param {
	const char *name; /* as in a request; a dot is a step into an object */
	enum op_type type;
	const char *help; /* one sentence, no full stop */
};

/* What every op works with. */
struct op_context {
	const struct config *config; /* borrowed */
	struct pool *pool;           /* borrowed */
};

struct op {
	const char *name;
	const char *method;
	const char *path;
	const char *help;
	const struct op_param *params;
	size_t param_count;
	size_t args_size;

	/* `args` is the op's own struct, each field checked for itself. On success the run's calls
	 * follow; errors are the caller's mistakes and say which field. */
	int (*run)(const struct op_context *context, const void *args,
		   const struct run_calls *calls, void *user, struct run **ret_run,
		   struct err *err);
};

/* One fresh sandbox, one run. */
extern const struct op op_run;

enum op_run_param {
	OP_RUN_CODE,
	OP_RUN_COMMAND,
	OP_RUN_POLICY,
	OP_RUN_RUNTIME,
	OP_RUN_BACKEND,
	OP_RUN_TIMEOUT,
	OP_RUN_MEMORY,
	OP_RUN_CPUS,
	OP_RUN_PIDS,
	OP_RUN_ARGS,
	OP_RUN_DATA,
	OP_RUN_FILES,
	OP_RUN_EXPECT,
	OP_RUN_STDIN,
	OP_RUN_ENV,
	OP_RUN_PARAM_COUNT,
};

extern const struct op_param op_run_params[OP_RUN_PARAM_COUNT];

/* What a run takes. Pointers are borrowed for the call; NULL, 0 and "no bytes" mean "not given". */
struct op_run_args {
	struct run_bytes code; /* in memory: it is looked at for its imports */
	bool is_command;
	const char *policy, *runtime, *backend;
	struct policy_ask limits;
	struct run_bytes args; /* checked JSON */
	enum run_data_format data_format;
	struct run_bytes data;
	const char *data_query;
	enum run_stdin stdin_kind;
	struct run_bytes stdin_bytes;
	int stdin_fd;
	const char *const *env;
	const struct run_file *files;
	size_t file_count;
	const char *const *expect;
	const char *cwd;

	/* What the door wants of the run. */
	bool is_cold; /* no zygote: python's start is paid once, by this run */
	bool want_files;
	bool keep_events;
};
