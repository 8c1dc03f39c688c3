// SPDX-License-Identifier: Apache-2.0
/*
 * Agentrail - its tools, for whichever door they are called through
 *
 * Owns:    what each tool takes (rows), the session behind a call, and the texts of the answers.
 *          The work itself is done inside the sandbox, by agentrail_tools.py.
 * May not: touch a file: paths are checked here and used there; nor be known outside src/dialect.
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

#define AGENTRAIL_POLICY "workspace"
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
	uint64_t timeout_ms; /* of those that take none */
};

/* A name of NULL is behind the last. */
extern const struct agentrail_tool agentrail_tools[];

const struct agentrail_tool *agentrail_find(const char *name); /* NULL: none */

/* Borrowed until `done` returns. */
struct agentrail_answer {
	const struct err *err;     /* nothing came of it; NULL: these did: */
	uint32_t retry_after_s;    /* of an err that is ERR_BUSY; 0: soon */
	bool is_refused;           /* the tool says no: that is the text */
	const struct buf *text;    /* a JSON string */
	const struct buf *details; /* a JSON object, without its braces */
	const char *session;       /* where it ran */
};

struct agentrail_ask {
	struct engine *engine; /* borrowed until done, as all of these */
	struct op_caller caller;
	const struct agentrail_tool *tool;
	const struct agentrail_args *args;
	const char *session; /* an id of ours, a name of the client's own, or NULL: a new one */

	/* Begins the run in the door's own way, which then calls agentrail_ran. NULL: by an ask. */
	void (*run)(void *user, const struct op_run_args *args);
	void (*done)(void *user, const struct agentrail_answer *answer);
	void *user;
};

struct agentrail_job;

/* Refuses what can be refused at once, with a text for the model. */
int agentrail_new(const struct agentrail_ask *ask, struct agentrail_job **ret_job, struct err *err);

/* Begins. `done` follows, maybe at once where the run is begun in the door's own way; the job is
 * gone when that returns. */
void agentrail_go(struct agentrail_job *job);

/* The run is over: its Result, or why there is none. */
void agentrail_ran(struct agentrail_job *job, const char *json, size_t size, const struct err *why);

/* The client gave up: the command is ended. `done` still comes. */
void agentrail_cancel(struct agentrail_job *job);

/* ---- over MCP ---- */

extern const struct mcp_tool *const agentrail_mcp_tools[]; /* NULL behind the last */

/* The handler of them all. */
void agentrail_mcp(struct mcp_call *call, const char *tool);

/* ---- its parts ---- */

/* A path that is /workspace or below it, normalised. -EINVAL. */
int agentrail_workspace_path(const char *path, char *ret_path, size_t size);

/* What a run of `tool` came to. -EBADMSG: nothing that the tool could have said. */
int agentrail_put(const struct agentrail_tool *tool, const struct agentrail_args *args,
		  const char *script, const struct ending *ending, struct buf *text,
		  struct buf *details, bool *ret_is_refused);
