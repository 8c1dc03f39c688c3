// SPDX-License-Identifier: Apache-2.0
#include "session/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"

#define LINE_MAX (96U << 20) /* the longest event: a whole frame, escaped */

void events_init(struct events *events, size_t keep)
{
	*events = (struct events){.start_ns = now_ns(), .first_seq = 1};
	buf_init(&events->text, keep);
	LIST_INIT(&events->sinks);
}

void events_done(struct events *events)
{
	buf_done(&events->text);
	LIST_INIT(&events->sinks);
}

void events_subscribe(struct events *events, struct events_sink *sink)
{
	LIST_INSERT_HEAD(&events->sinks, sink, entry);
}

void events_unsubscribe(struct events_sink *sink)
{
	LIST_REMOVE(sink, entry);
}

static size_t line_size(const uint8_t *line, size_t size)
{
	const uint8_t *end = memchr(line, '\n', size);

	return end != NULL ? (size_t)(end - line) : size;
}

/* Drops the oldest lines until `size` more bytes fit. */
static void make_room(struct events *events, size_t size)
{
	size_t dropped = 0;

	while (events->text.size - dropped + size > events->text.max &&
	       dropped < events->text.size) {
		dropped += line_size(events->text.data + dropped, events->text.size - dropped) + 1;
		events->first_seq++;
		events->is_cut = true;
	}
	buf_consume(&events->text, dropped);
}

static void keep_line(struct events *events, const struct buf *line)
{
	make_room(events, line->size + 1);
	if (buf_append(&events->text, line->data, line->size) == 0 &&
	    buf_append(&events->text, "\n", 1) == 0)
		return;

	/* The line is longer than all that may be kept: only present subscribers get it. */
	buf_consume(&events->text, events->text.size);
	events->first_seq = events->seq + 1;
	events->is_cut = true;
}

int events_add(struct events *events, const char *type, const void *members, size_t size)
{
	double t_ms = (double)(now_ns() - events->start_ns) / 1e6;
	struct events_sink *sink = NULL;
	struct buf line;
	int r;

	if (events->is_over)
		return -ESHUTDOWN;

	buf_init(&line, LINE_MAX);
	r = buf_format(&line, "{\"seq\":%llu,\"t_ms\":%.3f,\"type\":\"%s\"",
		       (unsigned long long)events->seq + 1, t_ms, type);
	if (r == 0)
		r = buf_append(&line, members, size);
	if (r == 0)
		r = buf_append(&line, "}", 1);
	if (r < 0) {
		buf_done(&line);
		return r;
	}

	events->seq++;
	events->is_over = strcmp(type, "verdict") == 0;
	keep_line(events, &line);
	sink = LIST_FIRST(&events->sinks);
	while (sink != NULL) {
		struct events_sink *next = LIST_NEXT(sink, entry); /* sinks may leave in a call */

		sink->event(sink->user, events->seq, buf_string(&line), line.size);
		sink = next;
	}
	buf_done(&line);
	return 0;
}

bool events_next(const struct events *events, uint64_t after, uint64_t *ret_seq,
		 const char **ret_text, size_t *ret_size)
{
	uint64_t seq = events->first_seq;
	size_t at = 0;

	if (after >= events->seq)
		return false;
	while (at < events->text.size) {
		size_t size = line_size(events->text.data + at, events->text.size - at);

		if (seq > after) {
			*ret_seq = seq;
			*ret_text = (const char *)events->text.data + at;
			*ret_size = size;
			return true;
		}
		at += size + 1;
		seq++;
	}
	return false;
}
