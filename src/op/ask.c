// SPDX-License-Identifier: Apache-2.0
#include "op/ask.h"

#include <errno.h>
#include <string.h>
#include <uv.h>

#include "base/c.h"
#include "session/engine.h"

#define MAX_DEFAULT (256 * MIB)
#define PIECE (64 * KIB)
#define HELD_MAX (256 * MIB) /* of all answers that are being read */
#define PIECES_MAX 16        /* in one turn of the loop */

struct ask {
	struct op_call call; /* first: the op's handle on us */
	struct ask_settings settings;
	uv_timer_t timer; /* brings everything to the loop: an op may answer from anywhere */
	struct op_source source;
	struct buf bytes; /* the answer, or the event that is coming */
	size_t taken;     /* of bytes: events that were told */
	size_t searched;  /* of bytes: up to here no line ends */
	size_t held;      /* of bytes: our part of `all_held` */
	struct err err;
	unsigned status;
	bool is_stream, is_over, is_held, is_forgotten, is_cancelled;
};

/* Of every ask there is: they share one loop. */
static size_t all_held;

static void count(struct ask *ask, size_t size)
{
	all_held += size - ask->held;
	ask->held = size;
}

static void timer_closed(uv_handle_t *handle)
{
	struct ask *ask = handle->data;

	count(ask, 0);
	buf_done(&ask->bytes);
	free(ask);
}

static void end(struct ask *ask)
{
	struct ask_result result = {
		.retry_after_s = ask->call.retry_after_s,
		.status = ask->status,
		.run = ask->call.run,
	};

	if (ask->err.kind != ERR_NONE)
		result.err = &ask->err;
	if (result.err == NULL && ask->settings.calls->event == NULL) {
		result.bytes = buf_string(&ask->bytes);
		result.size = ask->bytes.size;
	}
	if (!ask->is_forgotten)
		ask->settings.calls->done(ask->settings.user, &result);
	uv_close((uv_handle_t *)&ask->timer, timer_closed);
}

static void close_source(struct ask *ask, bool is_whole)
{
	struct op_source source = ask->source;

	ask->source = (struct op_source){0};
	ask->is_over = true;
	/* Closed in the middle a run would take us for a client that left. */
	if (!is_whole && !ask->is_cancelled)
		ask->call.left = NULL;
	if (source.close != NULL)
		source.close(source.user);
}

static void fail(struct ask *ask, int num, const char *why)
{
	enum err_kind kind = ERR_INTERNAL;

	if (num == EMSGSIZE)
		kind = ERR_TOO_LARGE;
	if (num == ENOBUFS)
		kind = ERR_BUSY;
	(void)err_set(&ask->err, kind, num, "%s", why);
	close_source(ask, false);
}

/* Takes what there is now, up to a piece. False: nothing more at the moment. */
static bool read_piece(struct ask *ask)
{
	int64_t n;

	if (buf_reserve(&ask->bytes, 1) < 0 || ask->bytes.size == ask->bytes.max) {
		fail(ask, EMSGSIZE, "the answer is too large");
		return false;
	}
	n = PIECE < ask->bytes.max - ask->bytes.size ? (int64_t)PIECE
						     : (int64_t)(ask->bytes.max - ask->bytes.size);
	if (buf_reserve(&ask->bytes, (size_t)n) < 0) {
		fail(ask, ENOMEM, "no memory for the answer");
		return false;
	}
	n = ask->source.read(ask->source.user, ask->bytes.data + ask->bytes.size, (size_t)n);
	if (n > 0) {
		ask->bytes.size += (size_t)n;
		count(ask, ask->bytes.size);
	} else if (n == -1) {
		close_source(ask, true);
	} else if (n < 0) {
		fail(ask, EIO, "what was being read is no longer there");
	}
	if (all_held > HELD_MAX && !ask->is_over) {
		fail(ask, ENOBUFS, "too many large answers are on their way; try again later");
		return false;
	}
	return n > 0;
}

/* Tells the lines that are whole. A long one is looked through only once, however it comes. */
static void tell_events(struct ask *ask)
{
	while (!ask->is_held && !ask->is_forgotten) {
		const char *all = (const char *)ask->bytes.data;
		size_t left = ask->bytes.size - ask->searched;
		const char *line_end = left > 0 ? memchr(all + ask->searched, '\n', left) : NULL;
		size_t from = ask->taken;

		if (line_end == NULL) {
			ask->searched = ask->bytes.size;
			break;
		}
		ask->taken = ask->searched = (size_t)(line_end - all) + 1;
		ask->is_held = !ask->settings.calls->event(ask->settings.user, all + from,
							   (size_t)(line_end - all) - from) &&
			       !ask->is_cancelled;
	}
	if (ask->is_forgotten)
		ask->taken = ask->searched = ask->bytes.size;
	buf_consume(&ask->bytes, ask->taken);
	count(ask, ask->bytes.size);
	ask->searched -= ask->taken;
	ask->taken = 0;
}

static bool has_events(const struct ask *ask)
{
	return ask->is_stream && ask->settings.calls->event != NULL;
}

static void turn(uv_timer_t *timer);

static void turn_soon(struct ask *ask)
{
	(void)uv_timer_start(&ask->timer, turn, 0, 0);
}

static void turn(uv_timer_t *timer)
{
	struct ask *ask = timer->data;
	bool has_more = true;

	if (has_events(ask))
		tell_events(ask);
	for (int i = 0; has_more && ask->is_stream && !ask->is_held && !ask->is_over; i++) {
		if (i == PIECES_MAX) {
			turn_soon(ask);
			return;
		}
		has_more = read_piece(ask);
		if (has_events(ask))
			tell_events(ask);
	}
	if (ask->is_over && (!ask->is_held || ask->is_forgotten))
		end(ask);
}

/* ---- the op's side ---- */

static unsigned status_of(const struct op_call *call, unsigned status)
{
	if (status > 0)
		return status;
	return call->op->status > 0 ? call->op->status : 200;
}

static void take_answer(struct op_call *call, unsigned status, struct buf *take_json)
{
	struct ask *ask = (struct ask *)call;

	ask->status = status_of(call, status);
	buf_done(&ask->bytes);
	ask->bytes = *take_json;
	buf_init(take_json, take_json->max);
	ask->is_over = true;
	turn_soon(ask);
}

static void take_failure(struct op_call *call, const struct err *err)
{
	struct ask *ask = (struct ask *)call;

	ask->err = *err;
	if (ask->err.kind == ERR_NONE)
		ask->err.kind = ERR_INTERNAL;
	ask->is_over = true;
	turn_soon(ask);
}

static void take_stream(struct op_call *call, unsigned status, const char *type, int64_t size,
			const struct op_source *source)
{
	struct ask *ask = (struct ask *)call;

	(void)type;
	(void)size;
	ask->status = status_of(call, status);
	ask->source = *source;
	ask->is_stream = true;
	turn_soon(ask);
}

static void take_wake(struct op_call *call)
{
	struct ask *ask = (struct ask *)call;

	if (!ask->is_over)
		turn_soon(ask);
}

static const struct op_door inner_door = {take_answer, take_failure, take_stream, take_wake, NULL};

/* ---- the asker's side ---- */

struct ask *ask_start(const struct ask_settings *settings)
{
	struct ask *ask = xnew(struct ask);

	ask->settings = *settings;
	ask->call = (struct op_call){
		.op = settings->op,
		.engine = settings->engine,
		.caller = settings->caller,
		.args = settings->args,
		.body = settings->body,
		.wants_events = settings->calls->event != NULL,
		.is_cancelled_with_client = true,
		.door = &inner_door,
	};
	buf_init(&ask->bytes, settings->max > 0 ? settings->max : (size_t)MAX_DEFAULT);
	(void)uv_timer_init(settings->engine->loop, &ask->timer);
	ask->timer.data = ask;
	settings->op->call(&ask->call);
	return ask;
}

void ask_go_on(struct ask *ask)
{
	ask->is_held = false;
	turn_soon(ask);
}

void ask_cancel(struct ask *ask)
{
	void (*left)(struct op_call * call) = ask->call.left;

	/* From here on it only runs out. */
	ask->is_cancelled = true;
	ask->is_held = false;
	turn_soon(ask);
	ask->call.left = NULL;
	if (!ask->is_over && left != NULL)
		left(&ask->call);
}

void ask_forget(struct ask *ask)
{
	ask->is_forgotten = true;
	ask->is_held = false;
	if (ask->is_stream && !ask->is_over)
		close_source(ask, false);
	turn_soon(ask);
}
