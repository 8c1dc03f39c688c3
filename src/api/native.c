// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/param.h"
#include "api/router_state.h"
#include "base/c.h"
#include "base/json.h"

#define ERROR_MAX (16U << 10)
#define METRICS_MAX (16U << 20)
#define NDJSON "application/x-ndjson"
#define QUERY_MAX 32

/* ---- errors ---- */

/* Does the error name a field that the request could have? An op may also refuse for another
 * reason. */
static bool has_field(const struct exchange *exchange, const struct err *err)
{
	const struct op *op = exchange->match.row != NULL ? exchange->match.row->op : NULL;
	char name[PARAM_NAME_MAX];

	if (err->field == 0 || op == NULL || err->kind == ERR_INTERNAL || err_is_busy(err))
		return false;
	if (exchange->is_decoding)
		return true;
	(void)snprintf(name, sizeof(name), "%.*s", (int)err->field, err->text);
	if (strlen(name) != err->field)
		return false; /* cut off, or not written by this program */
	for (enum op_in in = OP_IN_BODY; in <= OP_IN_QUERY; in++) {
		if (param_find(op, in, name) != NULL)
			return true;
	}
	return param_group(op, name) != NULL;
}

static const char *remedy_of(const struct exchange *exchange, const struct err *err)
{
	if (err->kind == ERR_UNAUTHORIZED)
		return "send the header Authorization: Bearer SECRET; `viv token new NAME` makes "
		       "one";
	if (err->kind == ERR_BUSY && err->num == ENOSPC)
		return "delete what is no longer needed, then try again";
	if (err->kind == ERR_BUSY && err->num == ENOBUFS)
		return "read the answers that wait, or close their connections, then try again";
	if (err->kind == ERR_CONFLICT && err->num == ENOTRECOVERABLE)
		return "DELETE /v1/sessions/{id} removes the session, POST /v1/sessions makes "
		       "another one";
	if (err->kind == ERR_CONFLICT && err->num == EBADMSG)
		return "the session sleeps and keeps its states: POST "
		       "/v1/sessions/{id}/rollback goes back to another one, GET "
		       "/v1/sessions/{id}/checkpoints lists them";
	if (err_is_busy(err))
		return "try again after the seconds in the header Retry-After";
	if (err->kind == ERR_BAD_REQUEST && exchange->is_decoding)
		return "GET /openapi.json describes every field";
	return NULL;
}

void exchange_error(struct exchange *exchange, unsigned status, const struct err *err)
{
	const char *remedy = remedy_of(exchange, err);
	struct buf body;

	buf_init(&body, ERROR_MAX);
	json_put(&body, "{'error':{'kind':%s,'message':%s", err_kind_name(err->kind), err->text);
	if (has_field(exchange, err))
		json_put(&body, ",'field':%.*s", (int)err->field, err->text);
	if (remedy != NULL)
		json_put(&body, ",'remedy':%s", remedy);
	if (buf_text(&body, "}}\n") < 0 || body.failed < 0)
		buf_done(&body);
	exchange_answer(exchange, status, &body);
}

/* ---- the op's side ---- */

/* One call of an op over our own API; it lives in the exchange's memory. */
struct native {
	struct op_call call;
	struct decoded decoded;
};

/* Copies the op's own headers to the answer. */
static void set_headers(struct exchange *exchange, const struct op_call *call)
{
	exchange->retry_after_s = call->retry_after_s;
	if (call->run[0] != '\0')
		exchange_set_header(exchange, "Vivarium-Run", call->run);
}

static unsigned status_of(const struct op_call *call, unsigned status)
{
	if (status > 0)
		return status;
	return call->op->status > 0 ? call->op->status : 200;
}

static void take_answer(struct op_call *call, unsigned status, struct buf *take_json)
{
	set_headers(call->door_user, call);
	exchange_answer(call->door_user, status_of(call, status), take_json);
}

static void take_failure(struct op_call *call, const struct err *err)
{
	set_headers(call->door_user, call);
	exchange_refuse(call->door_user, exchange_status(err), err);
}

static void take_stream(struct op_call *call, unsigned status, const char *type, int64_t size,
			const struct op_source *source)
{
	struct exchange *exchange = call->door_user;
	char disposition[128];

	set_headers(exchange, call);
	if (call->as_of[0] != '\0')
		exchange_set_header(exchange, "Vivarium-As-Of", call->as_of);
	/* A browser may show what a sandbox wrote, but must not run it in our origin. */
	if (call->is_foreign)
		exchange_set_header(exchange, "Content-Security-Policy",
				    "sandbox; default-src 'none'");
	if (call->filename[0] != '\0') {
		(void)snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"",
			       call->filename);
		exchange_set_header(exchange, "Content-Disposition", disposition);
	}
	exchange_stream(exchange, status_of(call, status), type, size, source);
}

static void take_wake(struct op_call *call)
{
	exchange_wake(call->door_user);
}

static bool take_hold(struct op_call *call, uint64_t size)
{
	struct exchange *exchange = call->door_user;

	return exchange->request == NULL || http_hold(exchange->request, size);
}

static const struct op_door op_door = {
	.answer = take_answer,
	.fail = take_failure,
	.stream = take_stream,
	.wake = take_wake,
	.hold = take_hold,
};

static void tell_left(struct exchange *exchange)
{
	struct native *native = exchange->user;
	void (*left)(struct op_call * call) = native->call.left;

	/* A stream counts as answered from its first byte on, and may go on for long. */
	if (exchange->is_answered && !native->call.is_cancelled_with_client)
		return;
	native->call.left = NULL;
	if (left != NULL)
		left(&native->call);
}

static void free_call(struct exchange *exchange)
{
	struct native *native = exchange->user;

	decoded_done(&native->decoded);
}

/* ---- the call ---- */

/* Is NDJSON in the list of media types, without q=0? */
static bool wants_events(const struct exchange *exchange)
{
	const char *accept = http_header(exchange->request, "Accept");

	while (accept != NULL && *accept != '\0') {
		size_t size = strcspn(accept, ",");
		const char *type = accept + strspn(accept, " \t");
		const char *rest = type + strlen(NDJSON);

		accept += size + (accept[size] == ',');
		if (strncasecmp(type, NDJSON, strlen(NDJSON)) != 0 ||
		    strchr(" \t;,", *rest) == NULL)
			continue;
		rest += strspn(rest, " \t;");
		return strncasecmp(rest, "q=0", 3) != 0 || (rest[3] == '.' && rest[4] != '0');
	}
	return false;
}

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
static int take_disconnect(struct op_call *call, struct query *query, struct err *err)
{
	for (size_t i = 0; i < query->count; i++) {
		const char *value = query->pairs[i].value;

		if (strcmp(query->pairs[i].name, "on_disconnect") != 0)
			continue;
		if (strcmp(value, "cancel") != 0 && strcmp(value, "continue") != 0)
			return err_field(err, ERR_BAD_REQUEST, EINVAL, "on_disconnect",
					 "must be cancel or continue");
		call->is_cancelled_with_client = value[1] == 'a';
		query->pairs[i] = query->pairs[--query->count];
		return 0;
	}
	return 0;
}

static int decode(struct exchange *exchange, struct native *native, struct err *err)
{
	const struct op *op = native->call.op;
	struct query query = {0};
	struct decode_source source = {
		.path = exchange->match.vars,
		.path_count = exchange->match.var_count,
		.query = query.pairs,
		.scan = exchange->scan,
	};
	int r = 0;

	exchange->is_decoding = true;
	http_each_query(exchange->request, add_query, &query);
	if (query.is_too_long)
		r = err_set(err, ERR_BAD_REQUEST, EINVAL, "more than %u query parameters",
			    QUERY_MAX);
	if (r == 0 && op->is_stream)
		r = take_disconnect(&native->call, &query, err);
	source.query_count = query.count;
	if (r == 0)
		r = decode_args(op, &source, &native->decoded, err);
	if (r == 0)
		exchange->is_decoding = false;
	if (r == 0 && op->is_raw)
		r = parts_fd(&exchange->parts, &native->call.body, err);
	return r;
}

static void run(struct exchange *exchange)
{
	struct native *native = exchange_memory(exchange, sizeof(*native));
	const struct op *op = exchange->match.row->op;
	struct op_call *call = &native->call;
	struct err err = {0};

	exchange->user = native;
	exchange->ended = free_call;
	call->op = op;
	call->body = -1;
	if (decode(exchange, native, &err) < 0) {
		exchange_refuse(exchange, exchange_status(&err), &err);
		return;
	}
	call->engine = exchange->engine;
	call->caller = exchange->caller;
	call->args = native->decoded.args;
	call->wants_events = op->is_stream && wants_events(exchange);
	call->door = &op_door;
	call->door_user = exchange;
	exchange->left = tell_left;
	op->call(call);
}

/* ---- our own routes that are no op ---- */

static void call_metrics(struct op_call *call)
{
	struct exchange *exchange = call->door_user;
	const struct router_settings *settings = &exchange->router->settings;
	struct err err = {0};
	struct buf text;

	buf_init(&text, METRICS_MAX);
	if (settings->metrics != NULL && settings->metrics(settings->user, &text) < 0) {
		buf_done(&text);
		(void)err_set(&err, ERR_INTERNAL, ENOMEM, "no memory for the metrics");
		op_fail(call, &err);
		return;
	}
	exchange_answer_as(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
}

/* The description is sent in place, without a copy: the router outlives its exchanges. */
struct description {
	const struct buf *text; /* borrowed */
	size_t sent;
};

static int64_t read_openapi(void *user, void *data, size_t room)
{
	struct description *description = user;
	size_t n = description->text->size - description->sent;

	if (n == 0)
		return -1;
	n = n < room ? n : room;
	memcpy(data, description->text->data + description->sent, n);
	description->sent += n;
	return (int64_t)n;
}

static void call_openapi(struct op_call *call)
{
	struct exchange *exchange = call->door_user;
	struct description *description = xnew(struct description);

	description->text = &exchange->router->openapi;
	op_stream(call, 200, "application/json", (int64_t)description->text->size,
		  &(const struct op_source){
			  .read = read_openapi, .close = free, .user = description});
}

static const struct op metrics = {
	.name = "metrics",
	.method = "GET",
	.path = "/metrics",
	.help = "Counters, gauges and histograms as Prometheus reads them",
	.answer = "Metrics",
	.call = call_metrics,
};

static const struct op openapi = {
	.name = "openapi",
	.method = "GET",
	.path = "/openapi.json",
	.help = "This description of every route, as OpenAPI 3.1",
	.answer = "OpenAPI",
	.is_open = true,
	.call = call_openapi,
};

const struct op *const native_ops[] = {&metrics, &openapi, NULL};

/* ---- the door ---- */

static const char *const headers[] = {"Cross-Origin-Resource-Policy", "same-origin", NULL};

const struct door_route native_route = {.run = run};

const struct door native_door = {
	.name = "http",
	.is_native = true,
	.has_cors = true,
	.accepts = "Authorization, Content-Type, Accept, Vivarium-Client, Vivarium-Approve",
	.exposes = "Vivarium-Run, Vivarium-As-Of, Content-Disposition, Retry-After",
	.headers = headers,
	.refuse = exchange_error,
};
