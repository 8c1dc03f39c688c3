// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "mcp/mcp_inside.h"
#include "session/engine.h"

#define SLOW_MAX (1U << 20)   /* bytes a client may leave unread before progress is dropped */
#define RESUME_MAX (4U << 20) /* bytes of a stream under way that can be asked for again */
#define KEEP_NS 30000000000U  /* how long after its end */
#define KEEP_MAX (1U << 20)   /* ... and how large */
#define KEEP_ALL (64U << 20)  /* ... all of them together */
#define LARGE_MIN (1U << 20)  /* an answer that is worth counting */
#define QUIET_NS 15000000000U
#define PATIENCE_NS 2000000000U /* an answer that takes longer begins as events */
#define LEFT_NS 300000000000U   /* a stream of a session that nobody came back for */

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

/* A client can ask for what it missed of the answer to a request of its session. */
static bool can_resume(const struct mcp_stream *stream)
{
	return stream->session != NULL && stream->session->open != stream && !stream->has_forgotten;
}

/* The oldest of those that are kept go when there is too much of them. */
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

/* A line break between the words of JSON means nothing there, and the end of a line here. */
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

void mcp_stream_begin(struct mcp_stream *stream)
{
	if (stream->is_begun)
		return;
	stream->is_begun = true;
	/* An id without data: from here on the client can come back (2025-11-25). */
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

/* Of all streams: what nobody has read yet. */
static uint64_t unread(const struct mcp *mcp)
{
	const struct mcp_stream *stream = NULL;
	uint64_t size = 0;

	TAILQ_FOREACH(stream, &mcp->streams, entry)
		size += stream->bytes.size - stream->sent;
	return size;
}

/* Clients that read nothing keep as much as bodies may, as through every door; who comes then is
 * told so instead. */
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

		/* The wire has its answer and no longer knows this stream. */
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
	stream->hangs_up = true;
	ready(stream);
}

/* ---- the transport's side ---- */

/* What nobody can ask for again need not be kept. */
static void forget_sent(struct mcp_stream *stream)
{
	if (stream->sent < stream->bytes.size ||
	    (can_resume(stream) && stream->bytes.size <= RESUME_MAX))
		return;
	stream->has_forgotten = true;
	buf_cut(&stream->bytes, 0);
	stream->sent = 0;
}

int64_t mcp_stream_read(struct mcp_stream *stream, void *data, size_t room)
{
	size_t left = stream->bytes.size - stream->sent;
	size_t n = left < room ? left : room;

	if (n > 0) {
		memcpy(data, stream->bytes.data + stream->sent, n);
		stream->sent += n;
		forget_sent(stream);
		return (int64_t)n;
	}
	return stream->is_over || stream->hangs_up ? -1 : 0;
}

void mcp_stream_wire_gone(struct mcp_stream *stream)
{
	struct mcp_request *request = stream->request;

	stream->wire = NULL;
	stream->hangs_up = false;
	stream->quiet_ns = now_ns();
	/* Of the 2026 era: closing the stream is how a client gives up. */
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
	stream->hangs_up = false;
	return stream;
}

/* ---- listeners ---- */

static const char *change_method(enum mcp_change change)
{
	if (change == MCP_CHANGE_TOOLS)
		return "notifications/tools/list_changed";
	return change == MCP_CHANGE_PROMPTS ? "notifications/prompts/list_changed"
					    : "notifications/resources/list_changed";
}

void mcp_tell_change(struct mcp *mcp, enum mcp_change change)
{
	struct mcp_stream *stream = NULL;
	char text[MCP_ID_MAX + 256];

	TAILQ_FOREACH(stream, &mcp->streams, entry) {
		bool is_open = stream->session != NULL && stream->session->open == stream;
		int n;

		if (stream->is_listener && (stream->wants & change) != 0)
			n = snprintf(
				text, sizeof(text),
				"{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"_meta\":{"
				"\"" MCP_META "subscriptionId\":%s}}}",
				change_method(change), stream->id);
		else if (is_open)
			n = snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}",
				     change_method(change));
		else
			continue;
		mcp_stream_send(stream, text, (size_t)n, true);
	}
}

/* ---- time ---- */

/* One that is there for whatever may come; the daemon's end would wait for it in vain. */
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
	if (stream->mcp->engine->is_stopping && has_no_end(stream)) {
		end_stream(stream);
		return;
	}
	if (stream->request != NULL && !stream->is_begun && now - stream->begun_ns > PATIENCE_NS)
		mcp_stream_begin(stream);
	/* A comment, so that nothing between us takes the line for dead. */
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
