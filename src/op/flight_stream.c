// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "op/flight.h"

#define KEEPALIVE_MS 15000U
#define NDJSON "application/x-ndjson"

/* Events on their way to one client: as fast as it reads, and no faster. */
struct event_stream {
	struct op_call *call; /* borrowed until closed */
	struct log_reader reader;
	uv_timer_t timer; /* a word now and then, so that nobody thinks the line is dead */
	bool follow;
	bool is_quiet; /* nothing was sent since the timer was last due */
	bool owes_keepalive;
	bool owes_held; /* that the run waits for a person: no event of its own, nothing happened */
	size_t sent;    /* bytes of the line that is next */
};

static void is_ready(void *user)
{
	struct event_stream *stream = user;

	op_wake(stream->call);
}

static void timer_due(uv_timer_t *timer)
{
	struct event_stream *stream = timer->data;

	stream->owes_keepalive = stream->is_quiet && stream->sent == 0;
	stream->is_quiet = true;
	if (stream->owes_keepalive)
		op_wake(stream->call);
}

/* Before any event there is: a run that is held has none. */
static size_t put_held(struct event_stream *stream, char *data, size_t room)
{
	const struct log *log = stream->reader.log;
	char line[64 + ID_SIZE];
	int size;

	stream->owes_held = false;
	if (log == NULL || !log_is_held(log))
		return 0;
	size = snprintf(line, sizeof(line), "{\"type\":\"held\",\"run\":\"%s\"}\n", log_id(log));
	if (size < 0 || (size_t)size > room)
		return 0;
	memcpy(data, line, (size_t)size);
	return (size_t)size;
}

static size_t put_keepalive(struct event_stream *stream, char *data, size_t room)
{
	static const char line[] = "{\"type\":\"keepalive\"}\n";

	stream->owes_keepalive = false;
	if (room < sizeof(line) - 1)
		return 0;
	memcpy(data, line, sizeof(line) - 1);
	return sizeof(line) - 1;
}

/* Copies from the line that is next. 0: there is none yet; a negative errno: none will come. */
static int64_t take_line(struct event_stream *stream, char *data, size_t room)
{
	const char *text = NULL;
	size_t size = 0;
	size_t taken, body;
	struct log_reader before = stream->reader;
	int r = log_reader_next(&stream->reader, &text, &size);

	if (r <= 0)
		return r;
	/* The newline is one byte more. */
	taken = size + 1 - stream->sent;
	if (taken > room)
		taken = room;
	body = stream->sent < size ? size - stream->sent : 0;
	if (body > taken)
		body = taken;
	memcpy(data, text + stream->sent, body);
	if (body < taken)
		data[body] = '\n';
	stream->sent += taken;
	if (stream->sent <= size) {
		/* Not all of it: the same line again, from there on. */
		stream->reader.after = before.after;
		stream->reader.place = before.place;
	} else {
		stream->sent = 0;
	}
	return (int64_t)taken;
}

static int64_t read_events(void *user, void *raw, size_t room)
{
	struct event_stream *stream = user;
	char *data = raw;
	size_t size = stream->owes_held ? put_held(stream, data, room) : 0;

	while (size < room) {
		int64_t n = take_line(stream, data + size, room - size);

		if (n == 0 && !stream->follow && size == 0)
			return -1;
		if (n == 0)
			break;
		if (n == -ENODATA && size == 0)
			return -1;
		if (n == -ENODATA)
			break;
		if (n < 0)
			return size > 0 ? (int64_t)size : -2;
		size += (size_t)n;
	}
	if (size == 0 && stream->owes_keepalive)
		size = put_keepalive(stream, data, room);
	stream->is_quiet = stream->is_quiet && size == 0;
	return (int64_t)size;
}

static void timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void close_stream(void *user)
{
	struct event_stream *stream = user;
	struct op_call *call = stream->call;

	/* Closed before the last event: the client went away in the middle. */
	if (call->left != NULL && stream->reader.log != NULL && !log_is_over(stream->reader.log))
		call->left(call);
	log_reader_close(&stream->reader);
	uv_close((uv_handle_t *)&stream->timer, timer_closed);
}

void flight_stream(struct op_call *call, struct log *log, uint64_t after, bool follow)
{
	struct event_stream *stream = xnew(struct event_stream);
	const struct op_source source = {
		.read = read_events, .close = close_stream, .user = stream};

	stream->call = call;
	stream->follow = follow;
	stream->owes_held = follow;
	(void)uv_timer_init(call->engine->loop, &stream->timer);
	stream->timer.data = stream;
	(void)uv_timer_start(&stream->timer, timer_due, KEEPALIVE_MS, KEEPALIVE_MS);
	log_reader_open(&stream->reader, log, after, is_ready, stream);
	op_stream(call, 200, NDJSON, -1, &source);
}
