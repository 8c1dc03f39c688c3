// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "mcp/mcp_inside.h"
#include "op/ask.h"

#define PAIRS_MAX 8
#define ANSWER_MAX (128U << 20)

/* A running op, with everything it needs until it has answered, even if nobody waits any more. */
struct mcp_op {
	struct mcp *mcp;
	struct ask *ask; /* borrowed until done */
	struct decoded decoded;
	int body;          /* owned: raw; -1: none */
	char *name, *peer; /* owned: of the caller */
	bool is_dropped;
	void (*line)(void *user, const char *text, size_t size);
	mcp_op_end *end;
	void *user;
	LIST_ENTRY(mcp_op) entry;
};

static void op_free(struct mcp_op *op)
{
	struct mcp *mcp = op->mcp;

	LIST_REMOVE(op, entry);
	decoded_done(&op->decoded);
	drop_fd(&op->body);
	free(op->name);
	free(op->peer);
	free(op);
	mcp_close_when_done(mcp);
}

static bool on_event(void *user, const char *line, size_t size)
{
	struct mcp_op *op = user;

	if (!op->is_dropped)
		op->line(op->user, line, size);
	return true;
}

static void on_done(void *user, const struct ask_result *result)
{
	struct mcp_op *op = user;

	if (!op->is_dropped && op->end != NULL)
		op->end(op->user, result);
	op_free(op);
}

struct mcp_op *mcp_op_start(struct mcp *mcp, const struct op_caller *caller, const struct op *op,
			    struct decoded *take_decoded, int *take_body,
			    void (*line)(void *user, const char *text, size_t size),
			    mcp_op_end *end, void *user)
{
	static const struct ask_calls with_events = {on_event, on_done};
	static const struct ask_calls without = {NULL, on_done};
	struct mcp_op *work = xnew(struct mcp_op);
	struct ask_settings settings = {
		.engine = mcp->engine,
		.op = op,
		.max = ANSWER_MAX,
		.calls = line != NULL ? &with_events : &without,
		.wants_result = line != NULL,
		.user = work,
	};

	work->mcp = mcp;
	work->decoded = *take_decoded;
	*take_decoded = (struct decoded){0};
	work->body = take_body != NULL ? steal_fd(take_body) : -1;
	work->name = xtext(caller->name);
	work->peer = xtext(caller->peer);
	work->line = line;
	work->end = end;
	work->user = user;
	LIST_INSERT_HEAD(&mcp->ops, work, entry);
	settings.caller = *caller;
	settings.caller.name = work->name;
	settings.caller.peer = work->peer;
	settings.args = work->decoded.args;
	settings.body = work->body;
	work->ask = ask_start(&settings);
	return work;
}

int mcp_op_decode(const struct op *op, const char *const *pairs, struct decoded *ret_decoded,
		  struct err *err)
{
	struct decode_pair path[PAIRS_MAX], query[PAIRS_MAX];
	struct decode_source source = {.path = path, .query = query};

	for (size_t i = 0; pairs != NULL && pairs[i] != NULL; i += 2) {
		bool is_path = false;

		for (size_t j = 0; j < op->param_count; j++)
			is_path |= op->params[j].in == OP_IN_PATH &&
				   strcmp(op->params[j].name, pairs[i]) == 0;
		if (source.path_count == PAIRS_MAX || source.query_count == PAIRS_MAX)
			return err_set(err, ERR_INTERNAL, E2BIG, "too many arguments of an op");
		if (is_path)
			path[source.path_count++] = (struct decode_pair){pairs[i], pairs[i + 1]};
		else
			query[source.query_count++] = (struct decode_pair){pairs[i], pairs[i + 1]};
	}
	return decode_args(op, &source, ret_decoded, err);
}

void mcp_op_drop(struct mcp_op *op)
{
	op->is_dropped = true;
	ask_cancel(op->ask);
}

void mcp_op_cancel(struct mcp_op *op)
{
	ask_cancel(op->ask);
}
