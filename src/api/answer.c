// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/exchange.h"
#include "base/c.h"
#include "base/json.h"
#include "http/http.h"

#define OWN_HEADERS_MAX 12
#define TEXT_MAX (64U << 10)
#define BODY_SMALL (64U << 10)  /* bodies up to this are read to their end even once answered */
#define SMALL_MAX (64U << 10)   /* answers up to this are not counted */
#define QUEUE_HIGH (256U << 10) /* from here on the door is told to wait */

struct headers {
	const char *items[2 * (EXCHANGE_HEADERS_MAX + OWN_HEADERS_MAX) + 1];
	size_t count;
	char retry[16];
};

void exchange_set_header(struct exchange *exchange, const char *name, const char *value)
{
	if (exchange->header_count < EXCHANGE_HEADERS_MAX)
		exchange->headers[exchange->header_count++] =
			(struct exchange_header){xstrdup(name), xstrdup(value)};
}

static bool has_header(const struct exchange *exchange, const char *name)
{
	for (size_t i = 0; i < exchange->header_count; i++) {
		if (strcasecmp(exchange->headers[i].name, name) == 0)
			return true;
	}
	return false;
}

static void add(const struct exchange *exchange, struct headers *headers, const char *name,
		const char *value)
{
	if (has_header(exchange, name))
		return;
	headers->items[headers->count++] = name;
	headers->items[headers->count++] = value;
}

static void set_headers(const struct exchange *exchange, struct headers *headers)
{
	const struct door *door = exchange->door;

	add(exchange, headers, "Cache-Control", "no-store");
	add(exchange, headers, "X-Content-Type-Options", "nosniff");
	for (const char *const *own = door->headers; own != NULL && own[0] != NULL; own += 2)
		add(exchange, headers, own[0], own[1]);
	if (exchange->origin != NULL) {
		add(exchange, headers, "Access-Control-Allow-Origin", exchange->origin);
		add(exchange, headers, "Vary", "Origin");
	}
	if (exchange->origin != NULL && door->exposes != NULL)
		add(exchange, headers, "Access-Control-Expose-Headers", door->exposes);
	if (exchange->status == 401)
		add(exchange, headers, "WWW-Authenticate", "Bearer realm=\"vivarium\"");
	if (exchange->status == 405)
		add(exchange, headers, "Allow", exchange->match.allow);
	if (exchange->status == 429 || exchange->status == 503) {
		(void)snprintf(headers->retry, sizeof(headers->retry), "%u",
			       exchange->retry_after_s > 0 ? exchange->retry_after_s : 1);
		add(exchange, headers, "Retry-After", headers->retry);
	}
	for (size_t i = 0; i < exchange->header_count; i++) {
		headers->items[headers->count++] = exchange->headers[i].name;
		headers->items[headers->count++] = exchange->headers[i].value;
	}
}

/* ---- whole ---- */

void exchange_send(struct exchange *exchange)
{
	struct headers headers = {0};

	exchange->is_waiting = false;
	exchange->is_answered = true;
	if (exchange->request == NULL) {
		exchange_free_when_done(exchange);
		return;
	}
	set_headers(exchange, &headers);
	http_reply(exchange->request, exchange->status, headers.items,
		   exchange->answer.size > 0 ? exchange->type : NULL, &exchange->answer);
}

/* A refusal is small enough to be sent all the same. */
static void refuse_large(struct exchange *exchange)
{
	struct err err = {0};

	(void)err_set(&err, ERR_BUSY, ENOBUFS,
		      "too many large answers wait for their readers; try again later");
	exchange_refuse(exchange, 503, &err);
}

void exchange_answer_as(struct exchange *exchange, unsigned status, const char *type,
			struct buf *take_body)
{
	int64_t announced = exchange->request != NULL ? http_body_size(exchange->request) : 0;

	if (exchange->is_answered || exchange->is_waiting) {
		buf_done(take_body);
		return;
	}
	/* The transport counts all answers; a foreign door refuses in its own words before that. */
	if (exchange->request != NULL && !exchange->door->is_native &&
	    take_body->size > SMALL_MAX && !exchange_keep(exchange, take_body->size)) {
		buf_done(take_body);
		refuse_large(exchange);
		return;
	}
	exchange->status = status;
	exchange->type = xstrdup(type);
	exchange->answer = *take_body;
	buf_init(take_body, take_body->max);
	/* A client that is still sending would see its connection break, so the answer waits for
	 * the end of a small body; on our own API only if the caller was let in. */
	exchange->is_waiting = !exchange->is_complete && announced > 0 && announced <= BODY_SMALL &&
			       (exchange->is_begun || !exchange->door->is_native);
	if (!exchange->is_waiting)
		exchange_send(exchange);
	else
		exchange->is_refused = true;
}

void exchange_answer(struct exchange *exchange, unsigned status, struct buf *take_json)
{
	exchange_answer_as(exchange, status, "application/json", take_json);
}

static int put_bytes(const char *bytes, size_t size, void *user)
{
	return buf_append(user, bytes, size);
}

void exchange_answer_tree(struct exchange *exchange, unsigned status, json_t *take_json)
{
	struct buf body;

	buf_init(&body, EXCHANGE_QUEUE_MAX);
	if (json_dump_callback(take_json, put_bytes, &body, JSON_COMPACT | JSON_ENCODE_ANY) < 0) {
		buf_done(&body);
		status = 500;
	}
	json_decref(take_json);
	exchange_answer(exchange, status, &body);
}

void exchange_answer_text(struct exchange *exchange, unsigned status, const char *key,
			  const char *text)
{
	struct buf body;

	buf_init(&body, TEXT_MAX);
	if (json_put(&body, "{%s:%s}", key, text) < 0)
		buf_done(&body);
	exchange_answer(exchange, status, &body);
}

bool exchange_is_answered(const struct exchange *exchange)
{
	return exchange->is_answered || exchange->is_waiting;
}

void exchange_options(struct exchange *exchange)
{
	const char *accepts = exchange->door->accepts;
	struct buf body;

	exchange_set_header(exchange, "Allow", exchange->match.allow);
	if (accepts == NULL)
		accepts = http_header(exchange->request, "Access-Control-Request-Headers");
	if (exchange->origin != NULL) {
		exchange_set_header(exchange, "Access-Control-Allow-Methods",
				    exchange->match.allow);
		exchange_set_header(exchange, "Access-Control-Max-Age", "600");
	}
	if (exchange->origin != NULL && accepts != NULL)
		exchange_set_header(exchange, "Access-Control-Allow-Headers", accepts);
	exchange->is_refused = true;
	buf_init(&body, 1);
	exchange_answer(exchange, 204, &body);
}

/* ---- in pieces ---- */

static size_t queued(const struct exchange *exchange)
{
	return exchange->queue.size - exchange->queue_at;
}

static int64_t read_queue(void *user, void *data, size_t room)
{
	struct exchange *exchange = user;
	size_t n = queued(exchange) < room ? queued(exchange) : room;

	if (exchange->is_cut)
		return -2;
	if (n == 0)
		return exchange->is_ended ? -1 : 0;
	memcpy(data, exchange->queue.data + exchange->queue_at, n);
	exchange->queue_at += n;
	/* Not on each read, since it moves all bytes that wait. */
	if (exchange->queue_at >= exchange->queue.size / 2) {
		buf_consume(&exchange->queue, exchange->queue_at);
		exchange->queue_at = 0;
	}
	if (exchange->is_full && queued(exchange) < QUEUE_HIGH) {
		exchange->is_full = false;
		if (exchange->drained != NULL)
			exchange->drained(exchange);
	}
	return (int64_t)n;
}

static int64_t read_source(void *user, void *data, size_t room)
{
	const struct exchange *exchange = user;

	return exchange->source.read(exchange->source.user, data, room);
}

static void close_source(void *user)
{
	struct exchange *exchange = user;

	exchange->is_ended = true;
	if (exchange->source.close != NULL)
		exchange->source.close(exchange->source.user);
}

static void stream(struct exchange *exchange, unsigned status, const char *type, int64_t size,
		   const struct http_source *source)
{
	struct headers headers = {0};

	exchange->status = status;
	exchange->is_answered = true;
	exchange->is_stream = true;
	if (exchange->request == NULL)
		return;
	set_headers(exchange, &headers);
	http_stream(exchange->request, status, headers.items, type, size, source);
}

void exchange_stream(struct exchange *exchange, unsigned status, const char *type, int64_t size,
		     const struct op_source *source)
{
	const struct http_source from = {read_source, close_source, exchange};
	bool is_gone = exchange->request == NULL;

	exchange->source = *source;
	stream(exchange, status, type, size, &from);
	if (!is_gone)
		return;
	close_source(exchange);
	exchange_free_when_done(exchange);
}

void exchange_wake(struct exchange *exchange)
{
	if (exchange->request != NULL)
		http_ready(exchange->request);
}

void exchange_queue(struct exchange *exchange, unsigned status, const char *type)
{
	const struct http_source source = {.read = read_queue, .user = exchange};

	if (!exchange->is_answered)
		stream(exchange, status, type, -1, &source);
}

void exchange_end(struct exchange *exchange)
{
	exchange->is_ended = true;
	if (exchange->request != NULL)
		http_ready(exchange->request);
	else
		exchange_free_when_done(exchange);
}

/* Ends the answer so that the client sees that it is incomplete. */
static void exchange_cut(struct exchange *exchange)
{
	exchange->is_cut = true;
	buf_consume(&exchange->queue, exchange->queue.size);
	exchange->queue_at = 0;
	exchange_end(exchange);
}

bool exchange_write(struct exchange *exchange, const void *data, size_t size)
{
	if (exchange->request == NULL || exchange->is_ended || exchange->is_cut)
		return true;
	if (buf_append(&exchange->queue, data, size) < 0) {
		exchange_cut(exchange);
		return true;
	}
	exchange->is_full = queued(exchange) >= QUEUE_HIGH;
	http_ready(exchange->request);
	return !exchange->is_full;
}
