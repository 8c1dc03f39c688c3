// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "op/op_look.h"
#include "session/testimony.h"

/* Bytes that wait for the client: above PENDING_HIGH the sandbox is paused, below PENDING_LOW it
 * goes on. */
#define PENDING_HIGH (512UL << 10)
#define PENDING_LOW (128UL << 10)
#define PENDING_MAX (PENDING_HIGH + (16UL << 20)) /* and one piece of the largest size */
#define TYPE_MAX 100

/* Bytes on their way from a sandbox to a client. */
struct download {
	struct op_call *call; /* borrowed until closed */
	struct look *look;    /* borrowed; NULL: it is done */
	struct buf pending;
	size_t taken; /* bytes of `pending` that were sent */
	const char *type;
	char told_type[TYPE_MAX];
	uint64_t left; /* of a file: bytes that are still to come */
	bool is_sized;
	bool is_begun; /* the client has the head of the answer */
	bool is_held;
	bool is_broken; /* the answer cannot be completed as announced */
	struct err err;
};

static void download_free(struct download *download)
{
	buf_done(&download->pending);
	free(download);
}

/* ---- to the client ---- */

static int64_t read_bytes(void *user, void *data, size_t room)
{
	struct download *download = user;
	size_t waiting = download->pending.size - download->taken;
	size_t n = waiting < room ? waiting : room;

	if (n == 0 && download->look != NULL)
		return 0;
	if (n == 0)
		return download->is_broken ? -2 : -1;
	memcpy(data, download->pending.data + download->taken, n);
	download->taken += n;
	if (download->taken == download->pending.size) {
		buf_cut(&download->pending, 0);
		download->taken = 0;
		/* Frees a large buffer: the client may take long for the rest. */
		if (download->pending.capacity > 2 * PENDING_HIGH)
			buf_done(&download->pending);
		(void)op_hold(download->call, download->pending.capacity);
	}
	if (download->is_held && waiting - n < PENDING_LOW && download->look != NULL) {
		download->is_held = false;
		look_hold(download->look, false);
	}
	return (int64_t)n;
}

static void close_bytes(void *user)
{
	struct download *download = user;

	if (download->look != NULL)
		look_cancel(download->look);
	download_free(download);
}

/* Callers must not touch `download` afterwards: if the client is gone, op_stream closes it at
 * once. */
static void begin(struct download *download)
{
	const struct op_source source = {
		.read = read_bytes, .close = close_bytes, .user = download};
	struct op_call *call = download->call;

	download->is_begun = true;
	call->is_foreign = true;
	/* A file is read as it is now, whichever state of the session answers. */
	if (!download->is_sized)
		(void)snprintf(call->as_of, sizeof(call->as_of), "%s", look_as_of(download->look));
	op_stream(call, 0, download->type, download->is_sized ? (int64_t)download->left : -1,
		  &source);
}

/* ---- from the sandbox ---- */

/* Accepts only what is harmless in a header. */
static bool is_media_type(const char *text)
{
	size_t first = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.+-");
	size_t second = 0;

	if (first > 0 && text[first] == '/')
		second = strspn(text + first + 1, "abcdefghijklmnopqrstuvwxyz0123456789.+-");
	return second > 0 && text[first + 1 + second] == '\0';
}

static bool read_number(const char *text, size_t size, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (size == 0 || size > 18)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(text[i] - '0');
	}
	*ret_number = number;
	return true;
}

/* Reads {"file":{"size","mime"}}, which announces the bytes that follow. */
static bool take_head(struct download *download, const char *json, size_t size)
{
	struct span file = span_member((struct span){json, size}, "file");
	struct span bytes = span_member(file, "size");

	if (bytes.size == 0 || !read_number(bytes.at, bytes.size, &download->left))
		return false;
	span_text(span_member(file, "mime"), download->told_type, sizeof(download->told_type));
	download->type = is_media_type(download->told_type) ? download->told_type
							    : "application/octet-stream";
	download->is_sized = true;
	return true;
}

static void take_answer(void *user, const char *json, size_t size)
{
	struct download *download = user;

	if (op_look_failed(json, size, &download->err)) {
		download->is_broken = true;
		return;
	}
	/* The answer after the bytes says nothing that matters. */
	if (download->type != NULL || download->is_begun)
		return;
	if (take_head(download, json, size))
		begin(download);
	else
		download->is_broken = true;
}

static bool take_bytes(void *user, const void *bytes, size_t size, bool is_last)
{
	struct download *download = user;

	(void)is_last;
	if (download->is_broken || (download->type == NULL && !download->is_begun))
		return false;
	if (download->is_sized && size > download->left) {
		download->is_broken = true; /* more than was announced */
		return false;
	}
	if (download->taken > 0) {
		buf_consume(&download->pending, download->taken);
		download->taken = 0;
	}
	if (buf_append(&download->pending, bytes, size) < 0 ||
	    !op_hold(download->call, download->pending.capacity)) {
		(void)err_set(&download->err, ERR_BUSY, ENOBUFS, OP_HELD_WHY);
		download->is_broken = true;
		return false;
	}
	download->left -= download->is_sized ? size : 0;
	if (download->pending.size > PENDING_HIGH && !download->is_held) {
		download->is_held = true;
		look_hold(download->look, true);
	}
	if (download->is_begun)
		op_wake(download->call);
	else
		begin(download);
	return true;
}

static void is_done(void *user, const struct look_state *state, const struct err *why)
{
	struct download *download = user;
	struct op_call *call = download->call;

	(void)state;
	download->look = NULL;
	if (why != NULL || (download->is_sized && download->left > 0))
		download->is_broken = true;
	if (download->is_begun) {
		op_wake(call);
		return;
	}
	if (download->err.kind == ERR_NONE && why != NULL)
		download->err = *why;
	if (download->err.kind == ERR_NONE)
		(void)err_set(&download->err, ERR_CONFLICT, EIO, "the session gave no answer");
	op_fail(call, &download->err);
	download_free(download);
}

void op_look_bytes(struct op_call *call, struct session *session, struct object *take_question,
		   const char *type)
{
	static const struct look_calls calls = {
		.answer = take_answer, .file = take_bytes, .done = is_done};
	const struct look_ask ask = {.json = buf_string(&take_question->buf),
				     .timeout_ms = LOOK_STREAM_MS};
	struct download *download = xnew(struct download);
	struct err err = {0};
	int r = take_question->buf.failed;

	download->call = call;
	download->type = type;
	buf_init(&download->pending, PENDING_MAX);
	if (r < 0)
		(void)err_set(&err, ERR_TOO_LARGE, -r, "the question is too long");
	else
		r = session_look(session, &ask, &calls, download, &download->look, &err);
	object_done(take_question);
	if (r < 0) {
		download_free(download);
		op_fail(call, &err);
	}
}
