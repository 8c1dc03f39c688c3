// SPDX-License-Identifier: Apache-2.0
#include "api/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/router_state.h"
#include "backend/job.h"
#include "base/c.h"

#define TREE_COST 64           /* bytes of a tree per byte of its text, at worst */
#define TREE_SMALL (16U << 10) /* text whose tree is not worth counting */
#define WELL_KNOWN "/.well-known/"

struct exchange_memory {
	struct exchange_memory *next;
	max_align_t bytes[];
};

/* ---- its life ---- */

static struct exchange *exchange_new(struct router *router, struct http_request *request)
{
	struct exchange *exchange = xnew(struct exchange);

	exchange->router = router;
	exchange->request = request;
	exchange->engine = router->settings.engine;
	exchange->start_ns = now_ns();
	parts_init(&exchange->parts);
	buf_init(&exchange->answer, 1);
	buf_init(&exchange->queue, EXCHANGE_QUEUE_MAX);
	http_peer(request, exchange->peer, sizeof(exchange->peer));
	exchange->caller = (struct op_caller){.name = "", .peer = exchange->peer};
	http_set_user(request, exchange);
	router->exchange_count++;
	return exchange;
}

static void go_through(struct exchange *exchange, struct opened *opened)
{
	exchange->match.opened = opened;
	exchange->door = opened->door;
	exchange->state = opened->state;
	opened->exchange_count++;
}

static void tell_finished(const struct exchange *exchange)
{
	const struct router_settings *settings = &exchange->router->settings;
	const struct route_row *row = exchange->match.row;
	const struct router_finished finished = {
		.route = row != NULL ? row->path : "none",
		.method = row != NULL ? row->method : "other",
		.status = exchange->status,
		.seconds = (double)(now_ns() - exchange->start_ns) / 1e9,
	};

	if (settings->finished != NULL)
		settings->finished(settings->user, &finished);
}

static void exchange_free(struct exchange *exchange)
{
	route_done(&exchange->match);
	scan_done(exchange->scan);
	free(exchange->scan);
	parts_done(&exchange->parts);
	json_decref(exchange->tree);
	for (size_t i = 0; i < ARRAY_LEN(exchange->trees); i++)
		json_decref(exchange->trees[i]);
	while (exchange->memory != NULL) {
		struct exchange_memory *memory = exchange->memory;

		exchange->memory = memory->next;
		free(memory);
	}
	for (size_t i = 0; i < exchange->header_count; i++) {
		free(exchange->headers[i].name);
		free(exchange->headers[i].value);
	}
	free(exchange->origin);
	free(exchange->type);
	buf_done(&exchange->answer);
	buf_done(&exchange->queue);
	free(exchange);
}

void exchange_free_when_done(struct exchange *exchange)
{
	struct router *router = exchange->router;
	struct opened *opened = exchange->match.opened;
	bool is_over = exchange->is_answered && !(exchange->is_stream && !exchange->is_ended);

	if (exchange->request != NULL || exchange->refs > 0 || (exchange->is_begun && !is_over))
		return;
	if (exchange->is_begun && exchange->ended != NULL)
		exchange->ended(exchange);
	tell_finished(exchange);
	bodies_resize(router, &exchange->held, 0);
	router->kept -= exchange->kept;
	exchange_free(exchange);
	opened->exchange_count--;
	doors_leave(router, opened);
	router_leave(router);
}

void *exchange_memory(struct exchange *exchange, size_t size)
{
	struct exchange_memory *memory = xcalloc(1, sizeof(*memory) + size);

	memory->next = exchange->memory;
	exchange->memory = memory;
	return memory->bytes;
}

bool exchange_keep(struct exchange *exchange, uint64_t size)
{
	struct router *router = exchange->router;

	/* As much again as all bodies may take. An exchange that is alone is limited only where its
	 * memory is made. */
	if (router->kept > exchange->kept && router->kept + size > router->settings.held_max)
		return false;
	exchange->kept += size;
	router->kept += size;
	return true;
}

int exchange_keep_tree(struct exchange *exchange, uint64_t size, struct err *err)
{
	if (size <= TREE_SMALL || exchange_keep(exchange, TREE_COST * size))
		return 0;
	return err_set(err, ERR_BUSY, ENOBUFS,
		       "too many large requests are under way; try again later");
}

void exchange_hold(struct exchange *exchange)
{
	exchange->refs++;
}

void exchange_release(struct exchange *exchange)
{
	exchange->refs--;
	exchange_free_when_done(exchange);
}

/* ---- errors ---- */

unsigned exchange_status(const struct err *err)
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
		return err->num == ENOSPC ? 507 : 503; /* a full disk stays full */
	case ERR_QUOTA:
		return 429;
	case ERR_UNSUPPORTED:
		return 501;
	case ERR_NONE:
	case ERR_INTERNAL:
		break;
	}
	return 500;
}

void exchange_refuse(struct exchange *exchange, unsigned status, const struct err *err)
{
	exchange->is_refused = true;
	exchange->door->refuse(exchange, status, err);
}

static void fail(struct exchange *exchange, const struct err *err)
{
	exchange_refuse(exchange, exchange_status(err), err);
}

/* ---- the head ---- */

static bool is_options(const struct exchange *exchange)
{
	return strcmp(http_method(exchange->request), "OPTIONS") == 0;
}

/* Clients look there for an authorization server, without a token. There is none: 404, not 401. */
static bool is_probe(const struct exchange *exchange)
{
	return exchange->match.row == NULL &&
	       strncmp(http_path(exchange->request), WELL_KNOWN, strlen(WELL_KNOWN)) == 0;
}

static bool needs_token(const struct exchange *exchange)
{
	const struct route_row *row = exchange->match.row;

	if (!exchange->door->is_native)
		return exchange->route != NULL && !row->is_open;
	return !is_options(exchange) && !is_probe(exchange) && (row == NULL || !row->is_open);
}

static struct access_request access_request_of(const struct exchange *exchange)
{
	const struct http_request *request = exchange->request;
	const struct door *door = exchange->door;
	bool is_unix = http_is_unix(request);
	struct access_request asked = {
		.authorization = http_header(request, "Authorization"),
		.host = http_header(request, "Host"),
		.origin = http_header(request, "Origin"),
		.site = door->is_public ? NULL : http_header(request, "Sec-Fetch-Site"),
		.approve = http_header(request, "Vivarium-Approve"),
		.client = http_header(request, "Vivarium-Client"),
		.peer = is_unix ? NULL : exchange->peer,
	};

	asked.has_uid = is_unix && http_peer_uid(request, &asked.uid);
	if (door->token_header != NULL)
		asked.secret = http_header(request, door->token_header);
	/* The door's own header wins if both are there. */
	if (asked.secret != NULL)
		asked.authorization = NULL;
	return asked;
}

/* A header that decides access may not be repeated: a proxy in front may have judged the other. */
static int check_once(const struct exchange *exchange, struct err *err)
{
	const char *const names[] = {
		"Authorization",    "Origin",          "Sec-Fetch-Site",
		"Vivarium-Approve", "Vivarium-Client", exchange->door->token_header,
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i] != NULL && http_header_is_twice(exchange->request, names[i]))
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "a request has at most one %s header", names[i]);
	}
	return 0;
}

/* The only check of Host, Origin and token, for all doors. Fills in the caller. */
static int check_access(struct exchange *exchange, struct err *err)
{
	const struct access *access = exchange->router->settings.access;
	const struct access_request asked = access_request_of(exchange);
	struct op_caller *caller = &exchange->caller;
	int r = check_once(exchange, err);

	if (r == 0)
		r = access_check_hosts(access, &asked, err);
	if (r < 0)
		return r;
	if (asked.origin != NULL && exchange->door->has_cors)
		exchange->origin = xstrdup(asked.origin);
	if (needs_token(exchange))
		r = access_check(access, &asked, caller, err);
	if (r == 0 && !http_own(exchange->request, caller->token))
		r = err_set(err, ERR_QUOTA, EBUSY,
			    "this token has as many connections as it may; close some");
	caller->via = exchange->door->name;
	caller->is_forwarded = http_header(exchange->request, BACKEND_FORWARDED) != NULL;
	/* People decide on held runs over our own API; callers at other doors are agents, whatever
	 * their token. */
	if (!exchange->door->is_native)
		caller->is_overseer = caller->may_decide = false;
	return r;
}

/* The limit of one body: the daemon's, or a lower one of the op. */
static uint64_t body_max(const struct exchange *exchange)
{
	const struct op *op = exchange->match.row->op;
	uint64_t all = exchange->router->settings.body_max;

	return op != NULL && op->body_max > 0 && op->body_max < all ? op->body_max : all;
}

/* Refuses a body before the client sends it: announced as too large, or compressed. */
static int check_body(const struct exchange *exchange, struct err *err)
{
	const char *coding = http_header(exchange->request, "Content-Encoding");
	int64_t size = http_body_size(exchange->request);

	if (coding != NULL && strcasecmp(coding, "identity") != 0)
		return err_set(err, ERR_UNSUPPORTED, ENOTSUP,
			       "Content-Encoding %.40s is not supported; send the body unencoded",
			       coding);
	if (size > 0 && (uint64_t)size > body_max(exchange))
		return bodies_too_large(body_max(exchange), err);
	return 0;
}

/* Matches the request against the route table, once. */
static int find_route(struct exchange *exchange, struct err *err)
{
	struct router *router = exchange->router;
	const char *path = http_path(exchange->request);
	int found = route_find(&router->table, http_method(exchange->request), path,
			       &exchange->match, err);
	struct opened *opened = exchange->match.opened;

	go_through(exchange, opened != NULL ? opened : doors_below(router, path));
	if (found == 0)
		exchange->route = exchange->match.row->route;
	else if (found == -ENOENT && !exchange->door->is_native)
		(void)err_set(err, ERR_NOT_FOUND, ENOENT, "there is no such path");
	return found;
}

static void on_head(void *user, struct http_request *request)
{
	struct exchange *exchange = exchange_new(user, request);
	struct err err = {0}, access_err = {0};
	int found = find_route(exchange, &err);
	int r = check_access(exchange, &access_err);

	if (r < 0) {
		fail(exchange, &access_err);
	} else if (found == -EPERM && exchange->door->has_cors && is_options(exchange)) {
		exchange_options(exchange);
	} else if (found < 0) {
		exchange->is_decoding = found == -EINVAL;
		exchange_refuse(exchange, found == -EPERM ? 405 : exchange_status(&err), &err);
	} else if (check_body(exchange, &err) < 0) {
		fail(exchange, &err);
	} else {
		exchange->is_begun = true;
		if (exchange->route->begin != NULL)
			exchange->route->begin(exchange);
	}
}

/* ---- the body ---- */

static bool has_members(const struct exchange *exchange)
{
	const struct op *op = exchange->match.row->op;

	return op != NULL && !op->is_raw;
}

static int take_members(struct exchange *exchange, const void *data, size_t size, struct err *err)
{
	if (exchange->scan == NULL) {
		exchange->scan = xnew(struct scan);
		scan_init(exchange->scan, exchange->match.row->op, body_max(exchange));
		exchange->scan->is_lenient = !exchange->door->is_native;
	}
	exchange->is_decoding = true;
	return scan_feed(exchange->scan, data, size, err);
}

static int take_body(struct exchange *exchange, const void *data, size_t size, struct err *err)
{
	uint64_t held;
	int r;

	exchange->body_size += size;
	if (has_members(exchange))
		r = take_members(exchange, data, size, err);
	else if (exchange->body_size > body_max(exchange))
		r = bodies_too_large(body_max(exchange), err);
	else
		r = parts_append(&exchange->parts, data, size, err);
	if (r < 0)
		return r;
	held = exchange->parts.size;
	if (exchange->scan != NULL)
		held += exchange->scan->parts.size + exchange->scan->small.size;
	return bodies_hold(exchange->router, &exchange->held, exchange->caller.token, held, err);
}

static size_t on_body(void *user, struct http_request *request, const void *data, size_t size)
{
	struct exchange *exchange = http_user(request);
	struct err err = {0};

	(void)user;
	if (!exchange->is_answered && !exchange->is_refused &&
	    take_body(exchange, data, size, &err) < 0)
		fail(exchange, &err);
	return size;
}

static int finish_body(struct exchange *exchange, struct err *err)
{
	int r;

	if (exchange->scan == NULL)
		return parts_finish(&exchange->parts, err);
	r = scan_finish(exchange->scan, err);
	/* Our own API decodes its members one by one, without a tree of all. */
	if (r == 0 && !exchange->door->is_native)
		r = exchange_keep_tree(exchange, exchange->scan->small.size, err);
	return r;
}

static void on_complete(void *user, struct http_request *request)
{
	struct exchange *exchange = http_user(request);
	struct err err = {0};

	(void)user;
	exchange->is_complete = true;
	if (exchange->is_waiting)
		exchange_send(exchange);
	if (exchange->is_answered || exchange->is_refused)
		return;
	if (finish_body(exchange, &err) < 0)
		fail(exchange, &err);
	else
		exchange->route->run(exchange);
}

/* ---- the client's end ---- */

static void tell_left(struct exchange *exchange)
{
	if (exchange->is_left_told || !exchange->is_begun || exchange->left == NULL ||
	    (exchange->is_answered && !(exchange->is_stream && !exchange->is_ended)))
		return;
	exchange->is_left_told = true;
	exchange->left(exchange);
}

static void on_left(void *user, struct http_request *request)
{
	struct exchange *exchange = http_user(request);

	(void)user;
	/* The handler may end the exchange. */
	exchange_hold(exchange);
	tell_left(exchange);
	exchange_release(exchange);
}

static void on_gone(void *user, struct http_request *request, bool is_sent)
{
	struct exchange *exchange = http_user(request);

	(void)user;
	(void)is_sent;
	exchange_hold(exchange);
	exchange->request = NULL;
	/* Before all of its body came: `run` will never be called. */
	if (exchange->is_begun && !exchange->is_complete)
		exchange->is_answered = true;
	tell_left(exchange);
	/* The queue is gone, so a writer that waits for room may go on. */
	if (exchange->is_full && exchange->drained != NULL)
		exchange->drained(exchange);
	exchange->is_full = false;
	exchange_release(exchange);
}

const struct http_calls router_calls = {
	.head = on_head,
	.body = on_body,
	.complete = on_complete,
	.gone = on_gone,
	.left = on_left,
};
