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
#include "op/op.h"

struct engine;
struct mcp;
struct mcp_call;

struct mcp *mcp_new(struct engine *engine, struct err *err);

/* Ends every stream and call. The loop gives the memory back. Accepts NULL. */
void mcp_close(struct mcp *mcp);

/* ---- tools ---- */

enum mcp_hint {
	MCP_READ_ONLY = 1,   /* changes nothing */
	MCP_DESTRUCTIVE = 2, /* what it changes may be gone for good */
	MCP_IDEMPOTENT = 4,  /* a second call with the same arguments changes nothing more */
	MCP_OPEN_WORLD = 8,  /* reaches beyond the sandbox */
};

/* One tool. Its arguments are rows, as an op's are: from them come the inputSchema and every check,
 * and the struct that the handler gets. */
struct mcp_tool {
	const char *name, *title;
	const char *help; /* what a model reads before it decides */

	/* The op that it calls, whose rows are its arguments: those of the path and the query, too,
	 * {id} of a session under the name session_id. Or rows of its own (op NULL). */
	const struct op *op;
	const struct op *also; /* ... and of this one, which has the same struct; none of them is
				  required. NULL: none */
	const struct op_param *params;
	size_t param_count;
	size_t args_size;
	const char *without;  /* "|detach|return_files|": rows of the op that are no arguments */
	const char *required; /* "|code|": rows that must be given here, though the op does not
				 insist */

	const char *schema; /* the inputSchema as it stands, instead of the rows'; NULL: theirs */
	const char *answer; /* schema of structuredContent (schemas.c); NULL: the op's; "": none */
	bool tells_session; /* its answer has a session_id as well */
	unsigned hints;     /* enum mcp_hint */
	void (*call)(struct mcp_call *call); /* NULL: calls the op and answers what it answers */
};

/* Tools that come with a dialect: there when the config enables it. */
struct mcp_tool_set {
	size_t enabled_at;                   /* offset of a bool in struct config */
	const struct mcp_tool *const *tools; /* NULL behind the last */
};

/* Every set; one without tools is behind the last (src/door/mcp_tool_table.c). */
extern const struct mcp_tool_set mcp_tool_sets[];

/* ---- one call of a tool, for its handler ---- */

/* Exactly one of the answers below is due for each call, at once or later. */
const void *mcp_call_args(const struct mcp_call *call); /* the tool's struct, checked by its rows */
const struct op_caller *mcp_call_caller(const struct mcp_call *call);
struct engine *mcp_call_engine(const struct mcp_call *call);
void mcp_call_set_state(struct mcp_call *call, void *state); /* the handler's own */
void *mcp_call_state(const struct mcp_call *call);

/* The client gave up: `cancel` is called once, at most, and an answer is still due. Ops that were
 * begun by mcp_call_op are told without this. */
void mcp_call_on_cancel(struct mcp_call *call, void (*cancel)(struct mcp_call *call));

/* What an op answered. `json` is its answer (for streams of bytes: the bytes), or `err` says why
 * there is none. Both are borrowed until it returns. */
typedef void mcp_op_done(struct mcp_call *call, const char *json, size_t size,
			 const struct err *err);

/* Calls an op with arguments by name: those of its path and query as texts ("id", "ses_..."), NULL
 * behind the last. `raw` is the body of an is_raw op (NULL: none). */
void mcp_call_op(struct mcp_call *call, const struct op *op, const char *const *pairs,
		 const void *raw, size_t raw_size, mcp_op_done *done);

/* Calls an op with arguments in its own struct, which is copied; what it points to must stay until
 * the tool has answered (the call's own args do). */
void mcp_call_op_args(struct mcp_call *call, const struct op *op, const void *args,
		      mcp_op_done *done);

/* The same for op_run and op_session_run: what it prints goes to the client as progress, line by
 * line, and `done` gets the whole Result. Cancelling ends the run. */
void mcp_call_run(struct mcp_call *call, const struct op *op, const struct op_run_args *args,
		  mcp_op_done *done);

/* What this MCP session remembers under `key`: NULL for nothing, or in the 2026 era, which has no
 * sessions. A value that is a session's id is closed with the MCP session. */
bool mcp_call_has_session(const struct mcp_call *call);
const char *mcp_call_recall(const struct mcp_call *call, const char *key);
void mcp_call_remember(struct mcp_call *call, const char *key, const char *value);

/* Answers. `json` (NULL: none) is the structuredContent, an object; it is also put as a text behind
 * `text` (NULL: none). */
void mcp_answer_json(struct mcp_call *call, bool is_error, const char *text, const char *json,
		     size_t size);
void mcp_answer_text(struct mcp_call *call, bool is_error, const char *text);

/* A run's Result as a tool's answer: verdict and remedy when it failed, the Result without the
 * bytes of its images, then these as images, and its files as links. */
void mcp_answer_run(struct mcp_call *call, const char *json, size_t size);

/* Of the list of a Result's charts: its pictures as items of a tool's content, each behind a comma;
 * the list itself, without their bytes. */
int mcp_put_images(struct buf *buf, const char *charts, size_t size);
int mcp_put_charts(struct buf *buf, const char *charts, size_t size);

/* The members of a CallToolResult as they stand: "\"content\":[...]". Consumes it. */
void mcp_answer_members(struct mcp_call *call, struct buf *take_members);

/* An op refused or failed: told to the model, which can do something about it. */
void mcp_answer_err(struct mcp_call *call, const struct err *err);
