// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/exchange.h"
#include "api/param.h"
#include "base/json.h"

#define HEADERS_MAX 24
#define ERROR_MAX (16U << 10)
#define NDJSON "application/x-ndjson"

/* Name, value, name, value ..., NULL. */
struct headers {
	const char *items[HEADERS_MAX + 1];
	size_t count;
	char retry[16];
	char disposition[128];
};

static void add(struct headers *headers, const char *name, const char *value)
{
	if (headers->count + 2 > HEADERS_MAX)
		return;
	headers->items[headers->count++] = name;
	headers->items[headers->count++] = value;
}

static void set_headers(struct exchange *exchange, struct headers *headers)
{
	const struct op_call *call = &exchange->call;

	add(headers, "Cache-Control", "no-store");
	add(headers, "X-Content-Type-Options", "nosniff");
	add(headers, "Cross-Origin-Resource-Policy", "same-origin");
	if (exchange->origin != NULL) {
		add(headers, "Access-Control-Allow-Origin", exchange->origin);
		add(headers, "Access-Control-Expose-Headers",
		    "Vivarium-Run, Vivarium-As-Of, Content-Disposition, Retry-After");
		add(headers, "Vary", "Origin");
	}
	if (call->run[0] != '\0')
		add(headers, "Vivarium-Run", call->run);
	if (exchange->status == 401)
		add(headers, "WWW-Authenticate", "Bearer realm=\"vivarium\"");
	if (exchange->status == 405)
		add(headers, "Allow", exchange->route.allow);
	if (exchange->status == 429 || exchange->status == 503) {
		(void)snprintf(headers->retry, sizeof(headers->retry), "%u",
			       call->retry_after_s > 0 ? call->retry_after_s : 1);
		add(headers, "Retry-After", headers->retry);
	}
}

/* From here on the op has nothing more to say. */
static void mark_answered(struct exchange *exchange, unsigned status)
{
	exchange->is_answered = true;
	exchange->status = status;
}

void exchange_reply(struct exchange *exchange, unsigned status, const char *type,
		    struct buf *take_body)
{
	struct headers headers = {0};

	mark_answered(exchange, status);
	if (exchange->request == NULL) {
		buf_done(take_body);
		exchange_release(exchange);
		return;
	}
	set_headers(exchange, &headers);
	http_reply(exchange->request, status, headers.items, take_body->size > 0 ? type : NULL,
		   take_body);
}

/* What a sandbox wrote is shown by a browser, at most: it runs nothing in our name. */
static void set_stream_headers(const struct exchange *exchange, struct headers *headers)
{
	const struct op_call *call = &exchange->call;

	if (call->as_of[0] != '\0')
		add(headers, "Vivarium-As-Of", call->as_of);
	if (call->is_foreign)
		add(headers, "Content-Security-Policy", "sandbox; default-src 'none'");
	if (call->filename[0] == '\0')
		return;
	(void)snprintf(headers->disposition, sizeof(headers->disposition),
		       "attachment; filename=\"%s\"", call->filename);
	add(headers, "Content-Disposition", headers->disposition);
}

void exchange_stream(struct exchange *exchange, unsigned status, const char *type, int64_t size,
		     const struct op_source *source)
{
	const struct http_source from = {source->read, source->close, source->user};
	struct headers headers = {0};

	mark_answered(exchange, status);
	if (exchange->request == NULL) {
		if (source->close != NULL)
			source->close(source->user);
		exchange_release(exchange);
		return;
	}
	set_headers(exchange, &headers);
	set_stream_headers(exchange, &headers);
	http_stream(exchange->request, status, headers.items, type, size, &from);
}

/* Messages that are about a field begin with its name: "limits.memory: 1GiB is above ...". */
static size_t field_of(const struct exchange *exchange, const struct err *err)
{
	const char *colon = strstr(err->text, ": ");
	size_t size = colon != NULL ? (size_t)(colon - err->text) : 0;
	const struct op *op = exchange->route.op;
	char name[PARAM_NAME_MAX];

	if (err->kind == ERR_INTERNAL || err->kind == ERR_BUSY || size == 0 || op == NULL)
		return 0;
	if (exchange->is_decoding)
		return size;
	if (size >= sizeof(name))
		return 0;
	memcpy(name, err->text, size);
	name[size] = '\0';
	for (enum op_in in = OP_IN_BODY; in <= OP_IN_QUERY; in++) {
		if (param_find(op, in, name) != NULL)
			return size;
	}
	return param_group(op, name) != NULL ? size : 0;
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
	if (err->kind == ERR_BUSY)
		return "try again after the seconds in the header Retry-After";
	if (err->kind == ERR_BAD_REQUEST && exchange->is_decoding)
		return "GET /openapi.json describes every field";
	return NULL;
}

void exchange_refuse(struct exchange *exchange, unsigned status, const struct err *err)
{
	size_t field = field_of(exchange, err);
	const char *remedy = remedy_of(exchange, err);
	struct buf body;
	int r;

	buf_init(&body, ERROR_MAX);
	r = buf_format(&body, "{\"error\":{\"kind\":\"%s\",\"message\":", err_kind_name(err->kind));
	if (r == 0)
		r = json_put_text(&body, err->text);
	if (r == 0 && field > 0)
		r = buf_text(&body, ",\"field\":");
	if (r == 0 && field > 0)
		r = json_put_string(&body, err->text, field);
	if (r == 0 && remedy != NULL)
		r = buf_text(&body, ",\"remedy\":");
	if (r == 0 && remedy != NULL)
		r = json_put_text(&body, remedy);
	if (r == 0)
		r = buf_text(&body, "}}\n");
	if (r < 0)
		buf_done(&body);
	exchange_reply(exchange, status, "application/json", &body);
}

void exchange_options(struct exchange *exchange)
{
	struct headers headers = {0};
	struct buf body;

	mark_answered(exchange, 204);
	set_headers(exchange, &headers);
	add(&headers, "Allow", exchange->route.allow);
	if (exchange->origin != NULL) {
		add(&headers, "Access-Control-Allow-Methods", exchange->route.allow);
		add(&headers, "Access-Control-Allow-Headers",
		    "Authorization, Content-Type, Accept, Vivarium-Client, "
		    "Vivarium-Approve");
		add(&headers, "Access-Control-Max-Age", "600");
	}
	buf_init(&body, 1);
	http_reply(exchange->request, 204, headers.items, NULL, &body);
}

/* Is NDJSON in the list of media types, without q=0? */
bool exchange_wants_events(const struct exchange *exchange)
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
