// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "mcp/mcp_inside.h"
#include "session/engine.h"

#define SLOW_MAX (1U << 20)   /* bytes a client may leave unread before progress is dropped */
#define RESUME_MAX (4U << 20) /* bytes that an active stream keeps for resuming */
#define KEEP_NS 30000000000U  /* how long an ended stream is kept for resuming */
#define KEEP_MAX (1U << 20)   /* largest stream that is kept */
#define KEEP_ALL (64U << 20)  /* all kept streams together */
#define LARGE_MIN (1U << 20)  /* smaller answers are never replaced */
#define QUIET_NS 15000000000U
#define PATIENCE_NS 2000000000U /* an answer that takes longer is sent as events */
#define LEFT_NS 300000000000U   /* a session's stream without a client is dropped */

struct mcp_stream *mcp_stream_new(struct mcp *mcp, struct mcp_session *session)
{
	struct mcp_stream *stream = xnew(struct mcp_stream);

	stream->mcp = mcp;
	stream->session = session;
	if (session != NULL)
		stream->number = ++session->stream_count;
	stream->begun_ns = stream->quiet_ns = now_ns();
	buf_init(&stream->bytes, MCP_ANSWER_MAX + SLOW_MAX);
	TAILQ_INSERT_TAIL(&mcp->streams, stream, entry);
	mcp_watch(mcp);
	return stream;
}

static void stream_free(struct mcp_stream *stream)
{
	if (stream->session != NULL && stream->session->open == stream)
		stream->session->open = NULL;
	if (stream->is_listener)
		stream->mcp->listener_count--;
	if (stream->is_kept)
		stream->mcp->kept -= stream->bytes.size;
	TAILQ_REMOVE(&stream->mcp->streams, stream, entry);
	buf_done(&stream->bytes);
	free(stream->events);
	free(stream);
}

/* Only the answer to a request of a session can be resumed, while all of it is kept. */
static bool can_resume(const struct mcp_stream *stream)
{
	return stream->session != NULL && stream->session->open != stream && !stream->has_forgotten;
}

/* Keeps an ended stream for resuming; drops the oldest kept ones if together they are too large. */
static void keep(struct mcp_stream *stream)
{
	struct mcp *mcp = stream->mcp;
	struct mcp_stream *other = TAILQ_FIRST(&mcp->streams);

	if (!stream->is_kept)
		mcp->kept += stream->bytes.size;
	stream->is_kept = true;
	while (other != NULL && mcp->kept > KEEP_ALL) {
		struct mcp_stream *next = TAILQ_NEXT(other, entry);

		if (other->is_kept)
			stream_free(other);
		other = next;
	}
}

void mcp_stream_release(struct mcp_stream *stream)
{
	if (stream->request != NULL || stream->wire != NULL)
		return;
	if (can_resume(stream) && stream->is_begun && stream->bytes.size <= KEEP_MAX)
		keep(stream);
	else
		stream_free(stream);
}

/* ---- events ---- */

static void mark_event(struct mcp_stream *stream)
{
	if (!can_resume(stream)) {
		stream->event_count++;
		return;
	}
	if (stream->event_count == stream->event_room) {
		size_t room = stream->event_room > 0 ? 2 * stream->event_room : 16;
		struct mcp_event *grown = realloc(stream->events, room * sizeof(*grown));

		if (grown == NULL)
			abort();
		stream->events = grown;
		stream->event_room = room;
	}
	stream->events[stream->event_count++].end = stream->bytes.size;
}

/* A line break between JSON tokens means nothing, but would end the line of an event. */
static void join_lines(uint8_t *at, const uint8_t *end)
{
	for (; at < end; at++) {
		if (*at == '\n' || *at == '\r')
			*at = ' ';
	}
}

static int put_event(struct mcp_stream *stream, const char *json, size_t size)
{
	int r = 0;

	if (stream->session != NULL && stream->session->open != stream)
		r = buf_format(&stream->bytes, "id: %u_%zu\n", stream->number, stream->event_count);
	if (r == 0 && json != NULL)
		r = buf_text(&stream->bytes, "event: message\n");
	if (r == 0)
		r = buf_text(&stream->bytes, "data: ");
	if (r == 0 && json != NULL)
		r = buf_append(&stream->bytes, json, size);
	if (r == 0)
		join_lines(stream->bytes.data + stream->bytes.size - size,
			   stream->bytes.data + stream->bytes.size);
	if (r == 0)
		r = buf_text(&stream->bytes, "\n\n");
	if (r == 0)
		mark_event(stream);
	return r;
}

static void ready(struct mcp_stream *stream)
{
	stream->quiet_ns = now_ns();
	if (stream->wire != NULL)
		mcp_wire_ready(stream->wire);
}

/* From now on the answer is sent as events. */
static void mcp_stream_begin(struct mcp_stream *stream)
{
	if (stream->is_begun)
		return;
	stream->is_begun = true;
	/* An event with an id and no data: from here on the client can reconnect (2025-11-25). */
	if (can_resume(stream) && strcmp(stream->session->version, MCP_NEWEST_LEGACY) == 0)
		(void)put_event(stream, NULL, 0);
	if (stream->wire != NULL)
		mcp_wire_begin(stream->wire);
	ready(stream);
}

void mcp_stream_send(struct mcp_stream *stream, const char *json, size_t size, bool is_needed)
{
	bool is_slow = stream->bytes.size - stream->sent > SLOW_MAX;

	if (stream->is_over || (is_slow && !is_needed))
		return;
	mcp_stream_begin(stream);
	(void)put_event(stream, json, size);
	ready(stream);
}

/* Unread bytes of all streams. */
static uint64_t unread(const struct mcp *mcp)
{
	const struct mcp_stream *stream = NULL;
	uint64_t size = 0;

	TAILQ_FOREACH(stream, &mcp->streams, entry)
		size += stream->bytes.size - stream->sent;
	return size;
}

/* Unread answers may take as much memory as bodies may, as with every door; a large answer beyond
 * that is replaced by an error. */
static void replace_large(const struct mcp_stream *stream, struct buf *json)
{
	uint64_t most = 4 * stream->mcp->engine->config->body;
	uint64_t others;

	if (!stream->is_begun || stream->request == NULL || json->size <= LARGE_MIN)
		return;
	others = unread(stream->mcp);
	if (others < LARGE_MIN || others + json->size <= most)
		return;
	buf_done(json);
	buf_init(json, 4 * KIB);
	mcp_put_error(json, stream->request->message.id, MCP_INTERNAL,
		      "too many large answers wait for their readers; try again later", NULL);
}

void mcp_stream_answer(struct mcp_stream *stream, unsigned status, struct buf *take_json)
{
	replace_large(stream, take_json);
	if (stream->request != NULL)
		stream->request->stream = NULL;
	stream->request = NULL;
	if (stream->is_over) {
		buf_done(take_json);
		mcp_stream_release(stream);
		return;
	}
	if (!stream->is_begun && take_json->size > 0 && stream->wire != NULL) {
		struct mcp_wire *wire = STEAL(stream->wire);

		/* The wire carries the whole answer and must not refer to this stream any more. */
		stream->is_over = true;
		mcp_wire_reply(wire, status, take_json);
		mcp_stream_release(stream);
		return;
	}
	if (stream->wire != NULL || stream->session != NULL)
		mcp_stream_begin(stream);
	if (take_json->size > 0)
		(void)put_event(stream, (const char *)take_json->data, take_json->size);
	buf_done(take_json);
	stream->is_over = true;
	ready(stream);
	mcp_stream_release(stream);
}

void mcp_stream_hang_up(struct mcp_stream *stream, unsigned retry_ms)
{
	mcp_stream_begin(stream);
	(void)buf_format(&stream->bytes, "retry: %u\n\n", retry_ms);
	stream->hangs_up_at = stream->bytes.size;
	ready(stream);
}

/* ---- the transport's side ---- */

/* Drops sent bytes that no client can ask for again. */
static void forget_sent(struct mcp_stream *stream)
{
	if (stream->sent < stream->bytes.size ||
	    (can_resume(stream) && stream->bytes.size <= RESUME_MAX))
		return;
	stream->has_forgotten = true;
	buf_cut(&stream->bytes, 0);
	stream->sent = stream->hangs_up_at = 0; /* no client could resume */
}

int64_t mcp_stream_read(struct mcp_stream *stream, void *data, size_t room)
{
	/* Events added after the hang-up are for the client when it reconnects. */
	size_t end = stream->hangs_up_at > 0 ? stream->hangs_up_at : stream->bytes.size;
	size_t left = end - stream->sent;
	size_t n = left < room ? left : room;

	if (n > 0) {
		memcpy(data, stream->bytes.data + stream->sent, n);
		stream->sent += n;
		forget_sent(stream);
		return (int64_t)n;
	}
	return stream->is_over || stream->hangs_up_at > 0 ? -1 : 0;
}

void mcp_stream_wire_gone(struct mcp_stream *stream)
{
	struct mcp_request *request = stream->request;

	stream->wire = NULL;
	stream->hangs_up_at = 0;
	stream->quiet_ns = now_ns();
	/* In the 2026 era a client cancels by closing the stream. */
	if (request != NULL && stream->session == NULL) {
		mcp_request_drop(request);
		return;
	}
	if (stream->is_listener)
		stream->is_over = true;
	mcp_stream_release(stream);
}

static size_t place_behind(const struct mcp_stream *stream, size_t event)
{
	return event < stream->event_count ? stream->events[event].end : stream->bytes.size;
}

struct mcp_stream *mcp_stream_resume(struct mcp_session *session, const char *event_id)
{
	struct mcp_stream *stream = NULL;
	unsigned number = 0;
	size_t event = 0;
	int used = 0;

	if (sscanf(event_id, "%9u_%9zu%n", &number, &event, &used) != 2 || event_id[used] != '\0')
		return NULL;
	TAILQ_FOREACH(stream, &session->mcp->streams, entry) {
		if (stream->session == session && stream->number == number)
			break;
	}
	if (stream == NULL || stream->wire != NULL || !can_resume(stream))
		return NULL;
	if (stream->is_kept)
		stream->mcp->kept -= stream->bytes.size;
	stream->is_kept = false;
	stream->sent = place_behind(stream, event);
	stream->hangs_up_at = 0;
	return stream;
}

/* ---- timeouts ---- */

/* A stream that stays open for whatever may come; the daemon must not wait for its end. */
static bool has_no_end(const struct mcp_stream *stream)
{
	return stream->is_listener || (stream->session != NULL && stream->session->open == stream);
}

static void end_stream(struct mcp_stream *stream)
{
	if (stream->request != NULL) {
		mcp_request_drop(stream->request);
		return;
	}
	stream->is_over = true;
	ready(stream);
	mcp_stream_release(stream);
}

static void tick(struct mcp_stream *stream, uint64_t now)
{
	bool is_forgotten = stream->wire == NULL && stream->request == NULL &&
			    now - stream->quiet_ns > (stream->is_over ? KEEP_NS : LEFT_NS);

	if (is_forgotten) {
		stream_free(stream);
		return;
	}
	/* In the 2026 era: the client was gone when the answer began. */
	if (stream->wire == NULL && stream->session == NULL && stream->request != NULL) {
		mcp_request_drop(stream->request);
		return;
	}
	if (stream->mcp->engine->is_stopping && has_no_end(stream)) {
		end_stream(stream);
		return;
	}
	if (stream->request != NULL && !stream->is_begun && now - stream->begun_ns > PATIENCE_NS)
		mcp_stream_begin(stream);
	/* A comment keeps proxies from closing an idle connection. */
	if (stream->is_begun && stream->wire != NULL && !stream->is_over &&
	    now - stream->quiet_ns > QUIET_NS && stream->sent == stream->bytes.size) {
		(void)buf_text(&stream->bytes, ": still here\n\n");
		ready(stream);
	}
}

void mcp_streams_tick(struct mcp *mcp, uint64_t now)
{
	struct mcp_stream *stream = TAILQ_FIRST(&mcp->streams);

	while (stream != NULL) {
		struct mcp_stream *next = TAILQ_NEXT(stream, entry);

		tick(stream, now);
		stream = next;
	}
}
