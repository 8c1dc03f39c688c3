// SPDX-License-Identifier: Apache-2.0
#include "op/run_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/session.h"

#define KEEPALIVE_MS 15000U
#define NDJSON "application/x-ndjson"

/* ---- who may know of a run ---- */

static bool is_own(const struct log *log, const struct op_caller *caller)
{
	const char *owner = log_owner(log);

	return owner != NULL && strcmp(owner, caller->name) == 0;
}

bool run_log_may_see(const struct log *log, const struct op_caller *caller)
{
	return caller->is_overseer || is_own(log, caller);
}

/* A run that the caller may not see is reported like one that does not exist. */
static struct log *find_log(struct op_call *call, const char *id,
			    bool (*may)(const struct log *log, const struct op_caller *caller))
{
	struct log *log = logs_find(call->engine->logs, id);
	struct err err = {0};

	if (log != NULL && strncmp(id, "run_", 4) == 0 && may(log, &call->caller))
		return log;
	(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "there is no run %.60s", id);
	op_fail(call, &err);
	return NULL;
}

struct log *run_log_find(struct op_call *call, const char *id)
{
	return find_log(call, id, run_log_may_see);
}

struct log *run_log_find_own(struct op_call *call, const char *id)
{
	return find_log(call, id, is_own);
}

/* ---- a log without an end ---- */

bool run_log_was_held(const struct log *log)
{
	struct log_head head;

	return log_seq(log) == 0 && log_head(log, &head) && head.held.size > 0 &&
	       head.held.at[0] == 't';
}

bool run_log_had_begun(const struct log *log)
{
	const char *note = NULL;
	size_t size = 0;

	return log_last_note(log, &note, &size);
}

enum run_left run_log_left(const struct engine *engine, const struct log *log)
{
	const struct session *session = NULL;
	struct log_head head;
	char id[ID_SIZE];

	(void)log_head(log, &head);
	span_text(head.session, id, sizeof(id));
	if (id[0] == '\0')
		return RUN_LEFT_NONE;
	session = sessions_find(engine->sessions, id);
	if (session == NULL || session_state(session) == SESSION_LOST)
		return RUN_LEFT_LOST;
	/* A run that had begun lost its head, so the session is where it was before. */
	return run_log_had_begun(log) ? RUN_LEFT_ROLLED_BACK : RUN_LEFT_PRESERVED;
}

/* ---- its events ---- */

/* Events on their way to one client: as fast as it reads, and no faster. */
struct event_stream {
	struct op_call *call; /* borrowed until closed */
	struct log_reader reader;
	uv_timer_t timer; /* sends keepalives, so that a quiet connection is not taken for dead */
	bool follow;
	bool is_quiet; /* nothing was sent since the timer was last due */
	bool owes_keepalive;
	bool owes_held; /* has yet to tell that the run is held, which is no event of the run */
	size_t sent;    /* bytes of the next line that were sent */
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

/* Comes before any event: a held run has none. */
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

/* Copies from the next line. 0: there is none yet; a negative errno: none will come. */
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
		/* The line did not fit: the next call goes on with the rest of it. */
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

void run_log_stream(struct op_call *call, struct log *log, uint64_t after, bool follow)
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
