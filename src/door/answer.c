// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/door_state.h"

#define OWN_HEADERS_MAX 8
#define TEXT_MAX (64U << 10)
#define SMALL_MAX (64U << 10)   /* an answer that is not worth counting */
#define QUEUE_HIGH (256U << 10) /* here the door is told to wait */

struct headers {
	const char *items[2 * (VISIT_HEADERS_MAX + OWN_HEADERS_MAX) + 1];
	size_t count;
	char retry[16];
};

void door_set_header(struct door_call *call, const char *name, const char *value)
{
	struct visit *visit = (struct visit *)call;

	if (visit->header_count < VISIT_HEADERS_MAX)
		visit->headers[visit->header_count++] =
			(struct header){xstrdup(name), xstrdup(value)};
}

static bool has_header(const struct visit *visit, const char *name)
{
	for (size_t i = 0; i < visit->header_count; i++) {
		if (strcasecmp(visit->headers[i].name, name) == 0)
			return true;
	}
	return false;
}

static void add(const struct visit *visit, struct headers *headers, const char *name,
		const char *value)
{
	if (has_header(visit, name))
		return;
	headers->items[headers->count++] = name;
	headers->items[headers->count++] = value;
}

static void set_headers(const struct visit *visit, struct headers *headers)
{
	const struct door *door = visit->call.door;

	add(visit, headers, "Cache-Control", "no-store");
	add(visit, headers, "X-Content-Type-Options", "nosniff");
	if (visit->origin != NULL) {
		add(visit, headers, "Access-Control-Allow-Origin", visit->origin);
		add(visit, headers, "Vary", "Origin");
	}
	if (visit->origin != NULL && door->exposes != NULL)
		add(visit, headers, "Access-Control-Expose-Headers", door->exposes);
	if (visit->status == 401)
		add(visit, headers, "WWW-Authenticate", "Bearer realm=\"vivarium\"");
	if (visit->status == 405)
		add(visit, headers, "Allow", visit->route.allow);
	if (visit->status == 429 || visit->status == 503) {
		(void)snprintf(headers->retry, sizeof(headers->retry), "%u",
			       visit->call.retry_after_s > 0 ? visit->call.retry_after_s : 1);
		add(visit, headers, "Retry-After", headers->retry);
	}
	for (size_t i = 0; i < visit->header_count; i++) {
		headers->items[headers->count++] = visit->headers[i].name;
		headers->items[headers->count++] = visit->headers[i].value;
	}
}

/* ---- whole ---- */

void visit_send(struct visit *visit)
{
	struct headers headers = {0};

	visit->is_waiting = false;
	visit->is_answered = true;
	if (visit->request == NULL) {
		visit_release(visit);
		return;
	}
	set_headers(visit, &headers);
	http_reply(visit->request, visit->status, headers.items,
		   visit->answer.size > 0 ? visit->type : NULL, &visit->answer);
}

/* What a refusal says is small. */
static void refuse_large(struct visit *visit)
{
	struct err err = {0};

	(void)err_set(&err, ERR_BUSY, ENOBUFS,
		      "too many large answers wait for their readers; try again later");
	visit_refuse(visit, 503, &err);
}

void door_answer_as(struct door_call *call, unsigned status, const char *type,
		    struct buf *take_body)
{
	struct visit *visit = (struct visit *)call;
	int64_t announced = visit->request != NULL ? http_body_size(visit->request) : 0;

	if (visit->is_answered || visit->is_waiting) {
		buf_done(take_body);
		return;
	}
	if (visit->request != NULL && take_body->size > SMALL_MAX &&
	    !door_keep(call, take_body->size)) {
		buf_done(take_body);
		refuse_large(visit);
		return;
	}
	visit->status = status;
	visit->type = xstrdup(type);
	visit->answer = *take_body;
	buf_init(take_body, take_body->max);
	/* Clients that are still sending would see a connection that breaks. */
	visit->is_waiting = !visit->is_complete && announced > 0 && announced <= VISIT_BODY_SMALL;
	if (!visit->is_waiting)
		visit_send(visit);
	else
		visit->is_refused = true;
}

void door_answer(struct door_call *call, unsigned status, struct buf *take_json)
{
	door_answer_as(call, status, "application/json", take_json);
}

static int put_bytes(const char *bytes, size_t size, void *user)
{
	return buf_append(user, bytes, size);
}

void door_answer_tree(struct door_call *call, unsigned status, json_t *take_json)
{
	struct buf body;

	buf_init(&body, DOOR_QUEUE_MAX);
	if (json_dump_callback(take_json, put_bytes, &body, JSON_COMPACT | JSON_ENCODE_ANY) < 0) {
		buf_done(&body);
		status = 500;
	}
	json_decref(take_json);
	door_answer(call, status, &body);
}

void door_answer_text(struct door_call *call, unsigned status, const char *key, const char *text)
{
	struct buf body;
	int r;

	buf_init(&body, TEXT_MAX);
	r = buf_text(&body, "{");
	if (r == 0)
		r = json_put_text(&body, key);
	if (r == 0)
		r = buf_text(&body, ":");
	if (r == 0)
		r = json_put_text(&body, text);
	if (r == 0)
		r = buf_text(&body, "}");
	if (r < 0)
		buf_done(&body);
	door_answer(call, status, &body);
}

bool door_is_answered(const struct door_call *call)
{
	const struct visit *visit = (const struct visit *)call;

	return visit->is_answered || visit->is_waiting;
}

/* ---- in pieces ---- */

static size_t queued(const struct visit *visit)
{
	return visit->queue.size - visit->queue_at;
}

static int64_t read_queue(void *user, void *data, size_t room)
{
	struct visit *visit = user;
	size_t n = queued(visit) < room ? queued(visit) : room;

	if (visit->is_cut)
		return -2;
	if (n == 0)
		return visit->is_ended ? -1 : 0;
	memcpy(data, visit->queue.data + visit->queue_at, n);
	visit->queue_at += n;
	/* Now and then: each time all that waits is moved. */
	if (visit->queue_at >= visit->queue.size / 2) {
		buf_consume(&visit->queue, visit->queue_at);
		visit->queue_at = 0;
	}
	if (visit->is_full && queued(visit) < QUEUE_HIGH) {
		visit->is_full = false;
		if (visit->call.drained != NULL)
			visit->call.drained(&visit->call);
	}
	return (int64_t)n;
}

void door_stream(struct door_call *call, unsigned status, const char *type)
{
	struct visit *visit = (struct visit *)call;
	const struct http_source source = {.read = read_queue, .user = visit};
	struct headers headers = {0};

	if (visit->is_answered)
		return;
	visit->status = status;
	visit->is_answered = true;
	visit->is_stream = true;
	if (visit->request == NULL)
		return;
	set_headers(visit, &headers);
	http_stream(visit->request, status, headers.items, type, -1, &source);
}

bool door_write(struct door_call *call, const void *data, size_t size)
{
	struct visit *visit = (struct visit *)call;

	if (visit->request == NULL || visit->is_ended || visit->is_cut)
		return true;
	if (buf_append(&visit->queue, data, size) < 0) {
		door_cut(call);
		return true;
	}
	visit->is_full = queued(visit) >= QUEUE_HIGH;
	http_ready(visit->request);
	return !visit->is_full;
}

static void finish(struct visit *visit)
{
	visit->is_ended = true;
	if (visit->request != NULL)
		http_ready(visit->request);
	else
		visit_release(visit);
}

void door_end(struct door_call *call)
{
	finish((struct visit *)call);
}

void door_cut(struct door_call *call)
{
	struct visit *visit = (struct visit *)call;

	visit->is_cut = true;
	buf_consume(&visit->queue, visit->queue.size);
	visit->queue_at = 0;
	finish(visit);
}
