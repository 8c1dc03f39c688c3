// SPDX-License-Identifier: Apache-2.0
#include "api/router.h"

#include <errno.h>
#include <string.h>

#include <sys/mman.h>

#include "api/exchange.h"
#include "api/openapi.h"
#include "base/c.h"
#include "base/io.h"

#define QUERY_MAX 32
#define BODY_SMALL (64 * KIB) /* of a bad body, read to its end so that the connection lives on */
#define OPENAPI_MAX (1U << 20)
#define WELL_KNOWN "/.well-known/"

/* ---- its life ---- */

static void tell_finished(const struct exchange *exchange)
{
	const struct router_settings *settings = &exchange->router->settings;
	const struct op *op = exchange->route.op;
	const struct router_finished finished = {
		.route = op != NULL ? op->path : "none",
		.method = op != NULL ? op->method : "other",
		.status = exchange->status,
		.seconds = (double)(now_ns() - exchange->start_ns) / 1e9,
	};

	if (settings->finished != NULL)
		settings->finished(settings->user, &finished);
}

static void free_when_done(struct router *router)
{
	if (!router->is_closed || router->exchange_count > 0)
		return;
	bodies_done(router);
	buf_done(&router->openapi);
	free(router);
}

void exchange_release(struct exchange *exchange)
{
	struct router *router = exchange->router;

	if (exchange->request != NULL || (exchange->is_called && !exchange->is_answered))
		return;
	tell_finished(exchange);
	route_done(&exchange->route);
	decoded_done(&exchange->decoded);
	scan_done(exchange->scan);
	free(exchange->scan);
	drop_fd(&exchange->raw);
	free(exchange->origin);
	bodies_resize(router, &exchange->held, 0);
	router->exchange_count--;
	free(exchange);
	free_when_done(router);
}

static struct exchange *exchange_new(struct router *router, struct http_request *request)
{
	struct exchange *exchange = xnew(struct exchange);

	exchange->router = router;
	exchange->request = request;
	exchange->raw = -1;
	exchange->start_ns = now_ns();
	http_peer(request, exchange->peer, sizeof(exchange->peer));
	http_set_user(request, exchange);
	router->exchange_count++;
	return exchange;
}

/* ---- errors ---- */

/* The one place where a kind of error becomes a status. */
unsigned router_status(const struct err *err)
{
	switch (err->kind) {
	case ERR_BAD_REQUEST:
		return 400;
	case ERR_UNAUTHORIZED:
		return 401;
	case ERR_FORBIDDEN:
		return 403;
	case ERR_NOT_FOUND:
		return 404;
	case ERR_CONFLICT:
		return 409;
	case ERR_TOO_LARGE:
		return 413;
	case ERR_BUSY:
		/* What is full stays so. Else: a quota of the caller's own, or the machine's? */
		return err->num == ENOSPC ? 507 : err->num == EDQUOT ? 429 : 503;
	case ERR_UNSUPPORTED:
		return 501;
	case ERR_NONE:
	case ERR_INTERNAL:
		break;
	}
	return 500;
}

static void fail(struct exchange *exchange, const struct err *err)
{
	exchange_refuse(exchange, router_status(err), err);
}

/* ---- the op's side ---- */

static void door_answer(struct op_call *call, unsigned status, struct buf *take_json)
{
	unsigned usual = call->op->status > 0 ? call->op->status : 200;

	exchange_reply(call->door_user, status > 0 ? status : usual, "application/json", take_json);
}

static void door_fail(struct op_call *call, const struct err *err)
{
	fail(call->door_user, err);
}

static void door_stream(struct op_call *call, unsigned status, const char *type, int64_t size,
			const struct op_source *source)
{
	unsigned usual = call->op->status > 0 ? call->op->status : 200;

	exchange_stream(call->door_user, status > 0 ? status : usual, type, size, source);
}

static void door_wake(struct op_call *call)
{
	struct exchange *exchange = call->door_user;

	if (exchange->request != NULL)
		http_ready(exchange->request);
}

static bool door_hold(struct op_call *call, uint64_t size)
{
	struct exchange *exchange = call->door_user;

	return exchange->request == NULL || http_hold(exchange->request, size);
}

static const struct op_door door = {door_answer, door_fail, door_stream, door_wake, door_hold};

/* ---- the head ---- */

/* Of one body: what the daemon takes, or less where the op says so. */
static uint64_t body_max(const struct exchange *exchange)
{
	uint64_t all = exchange->router->settings.body_max;
	uint64_t own = exchange->route.op->body_max;

	return own > 0 && own < all ? own : all;
}

/* Refused before the client sends it: a body that is announced as too large, or packed. */
static int check_body(struct exchange *exchange, bool is_raw, struct err *err)
{
	struct http_request *request = exchange->request;
	const char *coding = http_header(request, "Content-Encoding");
	int64_t size = http_body_size(request);

	if (coding != NULL && strcasecmp(coding, "identity") != 0)
		return err_set(err, ERR_UNSUPPORTED, ENOTSUP,
			       "Content-Encoding %.40s is not known here; send the body as it is",
			       coding);
	if (size > 0 && (uint64_t)size > body_max(exchange))
		return bodies_too_large(body_max(exchange), err);
	if (!is_raw)
		return 0;
	exchange->raw = memfd_create("body", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return exchange->raw < 0 ? err_sys(err, "keep the body") : 0;
}

/* Clients look there for who gives out tokens, of course without one: nobody does. */
static bool is_probe(const struct http_request *request, const struct op *op)
{
	return op == NULL && strncmp(http_path(request), WELL_KNOWN, strlen(WELL_KNOWN)) == 0;
}

static void on_head(void *user, struct http_request *request)
{
	struct router *router = user;
	struct exchange *exchange = exchange_new(router, request);
	const char *method = http_method(request);
	bool is_options = strcmp(method, "OPTIONS") == 0;
	struct err err = {0}, route_err = {0};
	int found = route_find(router->tables, method, http_path(request), &exchange->route,
			       &route_err);
	const struct op *op = exchange->route.op;
	bool needs_token = !is_options && !is_probe(request, op) && (op == NULL || !op->is_open);
	int r = exchange_enter(exchange, needs_token, &err);

	if (r == 0 && is_options && exchange->route.allow[0] != '\0') {
		exchange_options(exchange);
		return;
	}
	if (r == 0 && (found < 0 || op == NULL)) {
		exchange->is_decoding = op != NULL;
		exchange_refuse(exchange, found == -EPERM ? 405 : router_status(&route_err),
				&route_err);
		return;
	}
	if (r == 0)
		r = check_body(exchange, op->is_raw, &err);
	if (r < 0)
		fail(exchange, &err);
}

/* ---- the body ---- */

static int take_raw(struct exchange *exchange, const void *data, size_t size, struct err *err)
{
	if (size > body_max(exchange) - exchange->raw_size)
		return bodies_too_large(body_max(exchange), err);
	exchange->raw_size += size;
	return io_write_all(exchange->raw, data, size, err);
}

static int take_json(struct exchange *exchange, const void *data, size_t size, struct err *err)
{
	exchange->is_decoding = true;
	if (exchange->scan == NULL) {
		exchange->scan = xnew(struct scan);
		scan_init(exchange->scan, exchange->route.op, body_max(exchange));
	}
	return scan_feed(exchange->scan, data, size, err);
}

static int hold(struct exchange *exchange, struct err *err)
{
	uint64_t size = exchange->raw_size;

	if (exchange->scan != NULL)
		size += exchange->scan->parts.size + exchange->scan->small.size;
	return router_hold(exchange->router, &exchange->held, exchange->call.caller.token, size,
			   err);
}

static size_t on_body(void *user, struct http_request *request, const void *data, size_t size)
{
	struct exchange *exchange = http_user(request);
	int64_t announced = http_body_size(request);
	struct err err = {0};
	int r;

	(void)user;
	if (exchange->is_answered || exchange->late.kind != ERR_NONE)
		return size;
	if (exchange->route.op->is_raw)
		r = take_raw(exchange, data, size, &err);
	else
		r = take_json(exchange, data, size, &err);
	if (r == 0)
		r = hold(exchange, &err);
	if (r < 0 && announced > 0 && (uint64_t)announced <= BODY_SMALL)
		exchange->late = err;
	else if (r < 0)
		fail(exchange, &err);
	return size;
}

/* ---- the call ---- */

struct query {
	struct decode_pair pairs[QUERY_MAX];
	size_t count;
	bool is_too_long;
};

static bool add_query(void *user, const char *name, const char *value)
{
	struct query *query = user;

	query->is_too_long = query->count == QUERY_MAX;
	if (query->is_too_long)
		return false;
	query->pairs[query->count++] = (struct decode_pair){name, value};
	return true;
}

/* ?on_disconnect= belongs to the door, not to the op. */
static int take_disconnect(struct exchange *exchange, struct query *query, struct err *err)
{
	for (size_t i = 0; i < query->count; i++) {
		const char *value = query->pairs[i].value;

		if (strcmp(query->pairs[i].name, "on_disconnect") != 0)
			continue;
		if (strcmp(value, "cancel") != 0 && strcmp(value, "continue") != 0)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "on_disconnect: must be cancel or continue");
		exchange->call.is_cancelled_with_client = value[1] == 'a';
		query->pairs[i] = query->pairs[--query->count];
		return 0;
	}
	return 0;
}

static int decode(struct exchange *exchange, struct err *err)
{
	struct query query = {0};
	struct decode_source source = {
		.path = exchange->route.vars,
		.path_count = exchange->route.var_count,
		.query = query.pairs,
		.scan = exchange->scan,
	};
	int r = 0;

	exchange->is_decoding = true;
	if (exchange->scan != NULL)
		r = scan_finish(exchange->scan, err);
	http_each_query(exchange->request, add_query, &query);
	if (r == 0 && query.is_too_long)
		r = err_set(err, ERR_BAD_REQUEST, EINVAL, "more than %u query parameters",
			    QUERY_MAX);
	if (r == 0 && exchange->route.op->is_stream)
		r = take_disconnect(exchange, &query, err);
	source.query_count = query.count;
	if (r == 0)
		r = decode_args(exchange->route.op, &source, &exchange->decoded, err);
	if (r == 0)
		exchange->is_decoding = false;
	return r;
}

static void on_complete(void *user, struct http_request *request)
{
	struct exchange *exchange = http_user(request);
	const struct op *op = exchange->route.op;
	struct op_call *call = &exchange->call;
	struct err err = {0};

	(void)user;
	if (exchange->is_answered)
		return;
	if (exchange->late.kind != ERR_NONE || decode(exchange, &err) < 0) {
		fail(exchange, exchange->late.kind != ERR_NONE ? &exchange->late : &err);
		return;
	}
	call->op = op;
	call->engine = exchange->router->settings.engine;
	call->args = exchange->decoded.args;
	call->body = exchange->raw;
	call->wants_events = op->is_stream && exchange_wants_events(exchange);
	call->door = &door;
	call->door_user = exchange;
	exchange->is_called = true;
	op->call(call);
}

/* ---- the client's end ---- */

static void tell_left(struct exchange *exchange)
{
	void (*left)(struct op_call * call) = exchange->call.left;
	/* A stream has been answered from its first byte on, and may go on for long. */
	bool is_due = !exchange->is_answered || exchange->call.is_cancelled_with_client;

	/* Once: it is told when the client closes, and again when the transport lets go. */
	exchange->call.left = NULL;
	if (exchange->is_called && is_due && left != NULL)
		left(&exchange->call);
}

static void on_left(void *user, struct http_request *request)
{
	(void)user;
	tell_left(http_user(request));
}

static void on_gone(void *user, struct http_request *request, bool is_sent)
{
	struct exchange *exchange = http_user(request);

	(void)user;
	(void)is_sent;
	exchange->request = NULL;
	if (exchange->is_called && !exchange->is_answered)
		tell_left(exchange);
	else
		exchange_release(exchange);
}

const struct http_calls router_calls = {
	.head = on_head,
	.body = on_body,
	.complete = on_complete,
	.gone = on_gone,
	.left = on_left,
};

bool router_knows(const struct router *router, const char *method, const char *path)
{
	struct route route = {0};
	struct err err = {0};
	int r = route_find(router->tables, method != NULL ? method : "OPTIONS", path, &route, &err);

	route_done(&route);
	return r == 0 || (method == NULL && r == -EPERM);
}

void router_enter(struct router *router)
{
	router->exchange_count++;
}

void router_leave(struct router *router, struct router_held *held,
		  const struct router_finished *finished)
{
	if (router->settings.finished != NULL)
		router->settings.finished(router->settings.user, finished);
	bodies_resize(router, held, 0);
	router->exchange_count--;
	free_when_done(router);
}

struct router *router_new(const struct router_settings *settings, struct err *err)
{
	struct router *router = xnew(struct router);

	router->settings = *settings;
	if (settings->held_max == 0)
		router->settings.held_max = 4 * settings->body_max;
	if (settings->token_held_max == 0)
		router->settings.token_held_max = router->settings.held_max;
	LIST_INIT(&router->shares);
	router->tables[0] = settings->ops != NULL ? settings->ops : op_table;
	router->tables[1] = router_ops;
	buf_init(&router->openapi, OPENAPI_MAX);
	if (openapi_put(router->tables, &router->openapi) == 0)
		return router;

	(void)err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the description of the API");
	router_close(router);
	return NULL;
}

void router_close(struct router *router)
{
	if (router == NULL)
		return;
	router->is_closed = true;
	free_when_done(router);
}
