// SPDX-License-Identifier: Apache-2.0
/*
 * Mcp - the Model Context Protocol: agents' own door
 *
 * Owns:    both eras of the protocol on one path: 2025-11-25 and before (initialize, sessions) and
 *          2026-07-28 (stateless); the tables of sessions, streams and tasks, each bounded.
 * May not: know what an op does: a tool is a row that names one, or a row with a handler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "op/ask.h"
#include "op/op.h"

struct engine;
struct mcp;
struct mcp_call;

struct mcp *mcp_new(struct engine *engine, struct err *err);

/* Ends every stream and call; the memory is freed by the event loop. Accepts NULL. */
void mcp_close(struct mcp *mcp);

/* ---- tools ---- */

enum mcp_hint {
	MCP_READ_ONLY = 1,   /* changes nothing */
	MCP_DESTRUCTIVE = 2, /* may destroy data for good */
	MCP_IDEMPOTENT = 4,  /* a second call with the same arguments changes nothing more */
	MCP_OPEN_WORLD = 8,  /* reaches beyond the sandbox */
};

/* One tool. Its arguments are rows, like an op's: the inputSchema, every check and the struct that
 * the handler gets come from them. */
struct mcp_tool {
	const char *name, *title;
	const char *help; /* what a model reads before it decides */

	/* The op that the tool calls. Its rows are the tool's arguments, those of path and query
	 * included; the {id} of a session is called session_id. NULL: the tool has rows of its
	 * own. */
	const struct op *op;
	const struct op *also; /* a second op with the same struct, whose rows are arguments too but
				  never required; NULL: none */
	const struct op_param *params;
	size_t param_count;
	size_t args_size;
	const char *without;  /* "|detach|return_files|": rows of the op that are not arguments */
	const char *required; /* "|code|": rows that are required here, but not by the op */

	const char *schema;  /* a literal inputSchema; NULL: made from the rows */
	const char *answer;  /* schema of structuredContent (schemas.c); NULL: the op's; "": none */
	const char *members; /* instead of `answer`: the members of structuredContent, in the
				notation of schemas.c */
	bool tells_session;  /* the answer also has a session_id */
	unsigned hints;      /* enum mcp_hint */
	void (*call)(struct mcp_call *call); /* NULL: calls the op with its arguments */
	/* Makes the tool's answer from the op's, unless the op failed; NULL: passes it on */
	void (*done)(struct mcp_call *call, const struct ask_result *result);
};

/* Tools of a dialect: present when the config enables the dialect. */
struct mcp_tool_set {
	const struct config_part *config;    /* the dialect's */
	const struct mcp_tool *const *tools; /* NULL-terminated */
};

/* Every set, ended by one without tools (src/door/mcp_tool_table.c). */
extern const struct mcp_tool_set mcp_tool_sets[];

/* ---- one call of a tool, for its handler ---- */

/* A handler gives exactly one of the answers below, at once or later. */
const void *mcp_call_args(const struct mcp_call *call); /* the tool's struct, checked by its rows */
const struct op_caller *mcp_call_caller(const struct mcp_call *call);
struct engine *mcp_call_engine(const struct mcp_call *call);
void mcp_call_set_state(struct mcp_call *call, void *state); /* the handler's own */
void *mcp_call_state(const struct mcp_call *call);

/* `cancel` is called at most once, when the client gives up; an answer is still due. Ops that
 * mcp_call_op started are cancelled without this. */
void mcp_call_on_cancel(struct mcp_call *call, void (*cancel)(struct mcp_call *call));

/* An op has answered; the result is borrowed until this returns. */
typedef void mcp_op_done(struct mcp_call *call, const struct ask_result *result);

/* Calls an op with the arguments of its path and query as pairs of strings ("id", "ses_..."),
 * NULL-terminated. `raw` is the body of an is_raw op (NULL: none). */
void mcp_call_op(struct mcp_call *call, const struct op *op, const char *const *pairs,
		 const void *raw, size_t raw_size, mcp_op_done *done);

/* Calls an op with arguments in its own struct. The struct is copied; what it points to must live
 * until the tool has answered (the call's own args do). */
void mcp_call_op_args(struct mcp_call *call, const struct op *op, const void *args,
		      mcp_op_done *done);

/* The same for op_run and op_session_run: output goes to the client as progress, line by line, and
 * `done` gets the whole Result. Cancelling the call ends the run. */
void mcp_call_run(struct mcp_call *call, const struct op *op, const struct run_request *args,
		  mcp_op_done *done);

/* The value that this MCP session remembers under `key`; NULL: none, or the 2026 era, which has no
 * sessions. A value that is a session's id: that session is closed with the MCP session. */
bool mcp_call_has_session(const struct mcp_call *call);
const char *mcp_call_recall(const struct mcp_call *call, const char *key);
void mcp_call_remember(struct mcp_call *call, const char *key, const char *value);

/* Answers. `json` (NULL: none) is the structuredContent, an object; it is also appended as a text
 * item after `text` (NULL: none). */
void mcp_answer_json(struct mcp_call *call, bool is_error, const char *text, const char *json,
		     size_t size);
void mcp_answer_text(struct mcp_call *call, bool is_error, const char *text);

/* A run's Result as a tool's answer: verdict and remedy if it failed, the Result without the bytes
 * of its images, then the images, and links to its files. */
void mcp_answer_run(struct mcp_call *call, const struct result *result);

/* Appends from a Result's list of charts: its pictures as items of a tool's content, each with a
 * comma in front; or the list itself, without the pictures' bytes. */
int mcp_put_images(struct buf *buf, struct span charts);
int mcp_put_charts(struct buf *buf, struct span charts);

/* Answers with ready-made members of a CallToolResult: "\"content\":[...]". Consumes them. */
void mcp_answer_members(struct mcp_call *call, struct buf *take_members);

/* Tells the model that an op refused or failed, and what to do about it. */
void mcp_answer_err(struct mcp_call *call, const struct err *err);
