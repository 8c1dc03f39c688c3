// SPDX-License-Identifier: Apache-2.0
/*
 * Agentrail - its tools, whether they are called over HTTP or MCP
 *
 * Owns:    what each tool takes (rows), the session behind a call, and the texts of the answers.
 *          The work itself is done inside the sandbox, by agentrail_tools.py.
 * May not: touch a file (paths are checked here and used in the sandbox), or be known outside
 *          src/door/agentrail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "door/ending.h"
#include "mcp/mcp.h"
#include "op/ask.h"
#include "op/op.h"
#include "policy/config.h"

/* agentrail_config.c: dialects.agentrail */
#define AGENTRAIL_POLICY "workspace"

struct agentrail_config {
	struct config_door door;
	uint64_t idle_ms;
};

extern const struct config_part agentrail_config;

#define AGENTRAIL_ANSWER_MAX (64U << 20)

/* The arguments of every tool. */
struct agentrail_args {
	struct run_bytes code, command, content, old_string, new_string;
	const char *working_directory, *file_path, *path, *pattern, *glob, *type, *output_mode;
	const char *const *expected_output_files;
	const char *session_id;
	uint64_t timeout, offset, limit;
	enum op_bool replace_all, multiline, case_insensitive;
};

struct agentrail_tool {
	const char *name;
	const char *help; /* what a model reads before it decides */
	const struct op_param *params;
	size_t param_count;
	uint64_t timeout_ms; /* for tools without the argument `timeout` */
};

const struct agentrail_tool *agentrail_find(const char *name); /* NULL: none */

/* Borrowed until `done` returns. */
struct agentrail_answer {
	const struct err *err;     /* the call failed; NULL: the members below are set */
	uint32_t retry_after_s;    /* if err is ERR_BUSY; 0: soon */
	bool is_refused;           /* the tool refused; `text` says why */
	const struct buf *text;    /* a JSON string */
	const struct buf *details; /* a JSON object, without its braces */
	const char *session;       /* where it ran */
};

struct agentrail_ask {
	struct engine *engine; /* borrowed until `done`, like all pointers here */
	struct op_caller caller;
	const struct agentrail_tool *tool;
	const struct agentrail_args *args;
	const char *session; /* our id, the client's own name for it, or NULL: a new session */

	/* Starts the run in the door's own way, which must end in agentrail_ran. NULL: with an
	 * ask. */
	void (*run)(void *user, const struct run_request *args);
	void (*done)(void *user, const struct agentrail_answer *answer);
	void *user;
};

struct agentrail_job;

/* Checks the call. On failure `err` has a text for the model. */
int agentrail_new(const struct agentrail_ask *ask, struct agentrail_job **ret_job, struct err *err);

/* Starts the job. `done` follows, possibly before this returns if `run` is set; the job is freed
 * after `done`. */
void agentrail_go(struct agentrail_job *job);

/* To be called when the run is over, with its Result or the reason why there is none. */
void agentrail_ran(struct agentrail_job *job, const struct ask_result *result);

/* The client gave up: ends the command. `done` is still called. */
void agentrail_cancel(struct agentrail_job *job);

/* ---- over MCP ---- */

extern const struct mcp_tool *const agentrail_mcp_tools[]; /* NULL-terminated */

/* The handler of all these tools. */
void agentrail_mcp(struct mcp_call *call, const char *tool);

/* ---- answers ---- */

/* Makes the answer from the run of a tool. -EBADMSG: the run's result is not one that the tool
 * gives. */
int agentrail_put(const struct agentrail_tool *tool, const struct agentrail_args *args,
		  const char *script, const struct ending *ending, struct buf *text,
		  struct buf *details, bool *ret_is_refused);
