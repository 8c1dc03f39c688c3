// SPDX-License-Identifier: Apache-2.0
#include "op/ask.h"

#include <errno.h>
#include <string.h>
#include <uv.h>

#include "base/c.h"
#include "session/engine.h"
#include "session/log_text.h"

#define MAX_DEFAULT (256 * MIB)
#define PIECE (64 * KIB)
#define HELD_MAX (256 * MIB) /* bytes of all answers that are being read */
#define PIECES_MAX 16        /* in one turn of the loop */

struct ask {
	struct op_call call; /* first, so that a pointer to it is a pointer to the ask */
	struct ask_settings settings;
	uv_timer_t timer; /* makes every callback, since an op may answer from inside its call */
	struct op_source source;
	struct log_text *text; /* owned: the result of a run that is being read; NULL: none */
	struct buf bytes;      /* the answer, or events not yet told */
	size_t taken;          /* of bytes: these events were told */
	size_t searched;       /* of bytes: searched so far for the end of a line */
	size_t held;           /* of bytes: our part of `all_held` */
	struct err err;
	unsigned status;
	bool is_stream, is_over, is_held, is_forgotten, is_cancelled;
};

/* Bytes held by all asks together: they share one loop. */
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
	log_text_free(ask->text);
	buf_done(&ask->bytes);
	free(ask);
}

/* Are events being read, not a result? */
static bool has_events(const struct ask *ask)
{
	return ask->settings.calls->event != NULL && ask->text == NULL;
}

static void end(struct ask *ask)
{
	struct result value;
	struct ask_result result = {
		.retry_after_s = ask->call.retry_after_s,
		.status = ask->status,
		.run = ask->call.run,
		.session = ask->call.session,
	};

	if (ask->err.kind != ERR_NONE)
		result.err = &ask->err;
	if (result.err == NULL && !has_events(ask)) {
		result.bytes = buf_string(&ask->bytes);
		result.size = ask->bytes.size;
	}
	if (result.err == NULL && ask->text != NULL) {
		log_result_value(ask->text, result.bytes, &value);
		result.value = &value;
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
	/* To a run, a stream that is closed early looks like a client that left, and the run would
	 * be cancelled. */
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

static void turn(uv_timer_t *timer);

static void turn_soon(struct ask *ask)
{
	(void)uv_timer_start(&ask->timer, turn, 0, 0);
}

/* Reads up to one piece. False: there is no more right now. */
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
	if (ask->text == NULL) {
		n = ask->source.read(ask->source.user, ask->bytes.data + ask->bytes.size,
				     (size_t)n);
	} else {
		n = log_text_read(ask->text, ask->bytes.data + ask->bytes.size, (size_t)n);
		/* Let the rest of the loop run first. */
		if (n == 0)
			turn_soon(ask);
	}
	if (n > 0) {
		ask->bytes.size += (size_t)n;
		count(ask, ask->bytes.size);
	} else if (n == -1) {
		close_source(ask, true);
	} else if (n < 0) {
		fail(ask, EIO, "the answer broke off while it was being read");
	}
	if (all_held > HELD_MAX && !ask->is_over) {
		fail(ask, ENOBUFS, "too many large answers are on their way; try again later");
		return false;
	}
	return n > 0;
}

/* Tells every complete line. A long line that comes in pieces is searched only once for its end. */
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

static void take_result(struct op_call *call, struct log *log)
{
	struct ask *ask = (struct ask *)call;

	ask->status = 200;
	ask->is_stream = true;
	ask->is_over = log_result_open(log, &ask->text, &ask->err) < 0;
	turn_soon(ask);
}

/* After the last event, starts on the result of the same run. False: none is wanted, or the run is
 * no longer kept. */
static bool go_on_to_result(struct ask *ask)
{
	struct log *log = NULL;

	if (!ask->settings.wants_result || !ask->is_stream || !has_events(ask) ||
	    ask->err.kind != ERR_NONE || ask->is_cancelled || ask->is_forgotten)
		return false;
	log = logs_find(ask->settings.engine->logs, ask->call.run);
	if (log == NULL) {
		(void)err_set(&ask->err, ERR_NOT_FOUND, ENOENT, "the run is no longer kept");
		return false;
	}
	buf_cut(&ask->bytes, 0);
	ask->call.left = NULL; /* the run is over */
	ask->is_over = false;
	take_result(&ask->call, log);
	return true;
}

static void turn(uv_timer_t *timer)
{
	struct ask *ask = timer->data;
	bool has_more = true;

	if (ask->is_stream && has_events(ask))
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
	if (ask->is_over && (!ask->is_held || ask->is_forgotten) && !go_on_to_result(ask))
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

static const struct op_door inner_door = {
	.answer = take_answer,
	.fail = take_failure,
	.stream = take_stream,
	.wake = take_wake,
	.result = take_result,
};

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

	/* The remaining events are drained: nothing can hold them any more. */
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
