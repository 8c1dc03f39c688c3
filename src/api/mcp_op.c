// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "api/mcp_inside.h"
#include "base/c.h"

#define PIECE (64U << 10)
#define LINE_MAX (64U << 20) /* an event: a chart can be large */
#define PAIRS_MAX 8
#define ROUNDS_MAX 16 /* pieces in one go, so that others have their turn */

/* One call of an op. It stays until the op has answered and its stream is closed, whoever waits. */
struct mcp_op {
	struct mcp *mcp;
	struct op_call call;
	struct decoded decoded;
	int body; /* owned: raw; -1: none */
	char *name, *peer; /* owned: of the caller */
	struct op_source source;
	bool has_source;
	bool is_ready; /* in mcp->ready */
	bool is_dropped;
	struct buf answer; /* or the line that is not whole yet */
	void (*line)(void *user, const char *text, size_t size);
	mcp_op_end *end;
	void *user;
	LIST_ENTRY(mcp_op) entry;
	TAILQ_ENTRY(mcp_op) ready;
};

static void op_free(struct mcp_op *op)
{
	struct mcp *mcp = op->mcp;

	if (op->is_ready)
		TAILQ_REMOVE(&mcp->ready, op, ready);
	LIST_REMOVE(op, entry);
	decoded_done(&op->decoded);
	drop_fd(&op->body);
	buf_done(&op->answer);
	free(op->name);
	free(op->peer);
	free(op);
	mcp_close_when_done(mcp);
}

static void close_source(struct mcp_op *op)
{
	if (!op->has_source)
		return;
	op->has_source = false;
	if (op->source.close != NULL)
		op->source.close(op->source.user);
	op->call.left = NULL;
}

/* The end of it, told once to whoever still waits. */
static void finish(struct mcp_op *op, const struct err *err)
{
	mcp_op_end *end = op->is_dropped ? NULL : op->end;

	close_source(op);
	if (end != NULL)
		end(op->user, op, err);
	op_free(op);
}

const struct buf *mcp_op_answer(const struct mcp_op *op)
{
	return &op->answer;
}

const char *mcp_op_run(const struct mcp_op *op)
{
	return op->call.run;
}

/* ---- what it streams ---- */

static void take_lines(struct mcp_op *op)
{
	const char *at = (const char *)op->answer.data;
	size_t left = op->answer.size, taken = 0;

	while (left > 0 && !op->is_dropped) {
		const char *newline = memchr(at, '\n', left);
		size_t size;

		if (newline == NULL)
			break;
		size = (size_t)(newline - at);
		op->line(op->user, at, size);
		at += size + 1;
		left -= size + 1;
		taken += size + 1;
	}
	buf_consume(&op->answer, taken);
}

/* One piece: > 0 there may be more, 0 not now, < 0 it is over. */
static int64_t take_piece(struct mcp_op *op, struct err *err)
{
	int64_t n;

	if (buf_reserve(&op->answer, PIECE) < 0) {
		(void)err_set(err, ERR_TOO_LARGE, EMSGSIZE,
			      "it is larger than what fits an answer here");
		return -1;
	}
	n = op->source.read(op->source.user, op->answer.data + op->answer.size, PIECE);
	if (n == -2)
		(void)err_set(err, ERR_INTERNAL, EIO, "it broke off");
	if (n <= 0)
		return n;
	op->answer.size += (size_t)n;
	if (op->line != NULL)
		take_lines(op);
	return n;
}

static void pump(struct mcp_op *op);

static void on_pump(uv_timer_t *timer)
{
	struct mcp *mcp = timer->data;
	struct mcp_op *last = TAILQ_LAST(&mcp->ready, mcp_op_list);
	struct mcp_op *op = NULL;
	bool is_last = false;

	/* Those that get ready meanwhile have the next turn. */
	while (!is_last && (op = TAILQ_FIRST(&mcp->ready)) != NULL) {
		is_last = op == last;
		TAILQ_REMOVE(&mcp->ready, op, ready);
		op->is_ready = false;
		pump(op);
	}
	if (!TAILQ_EMPTY(&mcp->ready))
		(void)uv_timer_start(timer, on_pump, 0, 0);
}

static void get_ready(struct mcp_op *op)
{
	if (op->is_ready)
		return;
	op->is_ready = true;
	TAILQ_INSERT_TAIL(&op->mcp->ready, op, ready);
	(void)uv_timer_start(&op->mcp->pump, on_pump, 0, 0);
}

static void pump(struct mcp_op *op)
{
	struct err err = {0};
	int64_t n = -1;

	for (int i = 0; i < ROUNDS_MAX && !op->is_dropped; i++) {
		n = take_piece(op, &err);
		if (n <= 0)
			break;
	}
	if (op->is_dropped || n < 0)
		finish(op, err.kind != ERR_NONE ? &err : NULL);
	else if (n > 0)
		get_ready(op);
}

/* ---- the op's side ---- */

static void door_answer(struct op_call *call, unsigned status, struct buf *take_json)
{
	struct mcp_op *op = call->door_user;

	(void)status;
	buf_done(&op->answer);
	op->answer = *take_json;
	buf_init(take_json, 0);
	finish(op, NULL);
}

static void door_fail(struct op_call *call, const struct err *err)
{
	finish(call->door_user, err);
}

static void door_stream(struct op_call *call, unsigned status, const char *type, int64_t size,
			const struct op_source *source)
{
	struct mcp_op *op = call->door_user;

	(void)status;
	(void)type;
	(void)size;
	op->source = *source;
	op->has_source = true;
	get_ready(op);
}

static void door_wake(struct op_call *call)
{
	struct mcp_op *op = call->door_user;

	if (op->has_source)
		get_ready(op);
}

static const struct op_door door = {door_answer, door_fail, door_stream, door_wake};

/* ---- its beginning and its end ---- */

static char *copy_text(const char *text)
{
	char *copy = strdup(text != NULL ? text : "");

	if (copy == NULL)
		abort();
	return copy;
}

struct mcp_op *mcp_op_start(struct mcp *mcp, const struct op_caller *caller, const struct op *op,
			    struct decoded *take_decoded, int *take_body, size_t max,
			    void (*line)(void *user, const char *text, size_t size),
			    mcp_op_end *end, void *user)
{
	struct mcp_op *work = xnew(struct mcp_op);

	work->mcp = mcp;
	work->decoded = *take_decoded;
	*take_decoded = (struct decoded){0};
	work->body = take_body != NULL ? steal_fd(take_body) : -1;
	work->name = copy_text(caller->name);
	work->peer = copy_text(caller->peer);
	work->line = line;
	work->end = end;
	work->user = user;
	buf_init(&work->answer, line != NULL ? LINE_MAX : max + PIECE);
	work->call = (struct op_call){
		.op = op,
		.engine = mcp->settings.engine,
		.caller = {.token = caller->token, .name = work->name, .peer = work->peer},
		.args = work->decoded.args,
		.body = work->body,
		.wants_events = line != NULL,
		.is_cancelled_with_client = true,
		.door = &door,
		.door_user = work,
	};
	LIST_INSERT_HEAD(&mcp->ops, work, entry);
	return work;
}

void mcp_op_go(struct mcp_op *op)
{
	op->call.op->call(&op->call);
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
	void (*left)(struct op_call * call);

	if (op == NULL || op->is_dropped)
		return;
	op->is_dropped = true;
	if (op->has_source) {
		/* Closed before its end: what it belongs to is cancelled. Not from in here: this
		 * may be one of its own calls. */
		get_ready(op);
		return;
	}
	left = op->call.left;
	op->call.left = NULL;
	if (left != NULL)
		left(&op->call);
}
