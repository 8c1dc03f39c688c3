// SPDX-License-Identifier: Apache-2.0
#include "op/op_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"

#define FIRST (32UL << 10) /* one piece of the transport: what fits is sent whole */
#define JSON "application/json"

struct sending {
	struct op_call *call; /* borrowed until closed */
	struct buf first;
	size_t sent; /* bytes of `first` */
	struct log_text *text;
};

static int64_t read_text(void *user, void *data, size_t room)
{
	struct sending *sending = user;
	size_t n = sending->first.size - sending->sent;
	int64_t got;

	if (n > 0) {
		n = n < room ? n : room;
		memcpy(data, sending->first.data + sending->sent, n);
		sending->sent += n;
		if (sending->sent == sending->first.size) {
			buf_done(&sending->first);
			sending->sent = 0;
		}
		return (int64_t)n;
	}
	got = log_text_read(sending->text, data, room);
	/* Let the rest of the loop run first. */
	if (got == 0)
		op_wake(sending->call);
	return got;
}

static void close_text(void *user)
{
	struct sending *sending = user;

	buf_done(&sending->first);
	log_text_free(sending->text);
	free(sending);
}

/* Reads the first bytes, as far as one turn of the loop makes them. True: they are the whole
 * text. */
static bool read_first(struct sending *sending, int64_t *ret_last)
{
	struct buf *first = &sending->first;
	int64_t n = buf_reserve(first, FIRST);

	while (n >= 0 && first->size < FIRST) {
		n = log_text_read(sending->text, first->data + first->size, FIRST - first->size);
		first->size += n > 0 ? (size_t)n : 0;
		if (n == 0)
			break;
	}
	*ret_last = n;
	return n == -1;
}

void op_text(struct op_call *call, const char *type, struct log_text *take_text)
{
	struct sending *sending = xnew(struct sending);
	const struct op_source source = {.read = read_text, .close = close_text, .user = sending};
	struct err err = {0};
	int64_t last = 0;
	bool is_whole;

	sending->call = call;
	sending->text = take_text;
	buf_init(&sending->first, 2 * FIRST);
	is_whole = read_first(sending, &last);
	if (last < -1) {
		(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "its events are no longer kept");
	} else if (is_whole && strcmp(type, JSON) == 0) {
		op_answer(call, 200, &sending->first);
	} else if (!op_hold(call, FIRST + LOG_TEXT_OUT_MAX / 8)) {
		(void)err_set(&err, ERR_BUSY, ENOBUFS, OP_HELD_WHY);
	} else {
		op_stream(call, 200, type, is_whole ? (int64_t)sending->first.size : -1, &source);
		return;
	}
	close_text(sending);
	if (err.kind != ERR_NONE)
		op_fail(call, &err);
}

void op_text_result(struct op_call *call, struct log *log)
{
	struct log_text *text = NULL;
	struct err err = {0};

	if (call->door->result != NULL)
		call->door->result(call, log);
	else if (log_result_open(log, &text, &err) < 0)
		op_fail(call, &err);
	else
		op_text(call, JSON, text);
}
