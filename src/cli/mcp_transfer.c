// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_transfer.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "backend/curl.h"
#include "base/c.h"
#include "base/json.h"

#define ANSWER_MAX (512UL << 20)
#define HEADERS_MAX (16UL << 10)
#define NOT_FOUND 404
#define META "io.modelcontextprotocol/protocolVersion"

struct mcp_transfer {
	struct mcp_route *route;        /* borrowed */
	struct client_request *request; /* owned until it is done */
	const char *sent;               /* borrowed from the request; NULL: it has no body */
	size_t sent_size;
	char id[MCP_ID_MAX]; /* of the request whose answer is due; "": none */
	char last_event[64];
	bool is_modern, is_first, is_stream, is_answered;
	bool is_silent, is_again;
	bool has_session;   /* the request names a session of the 2025 era */
	bool is_waited_for; /* false for streams of unsolicited messages */
	struct buf bytes;   /* owned: JSON, or an incomplete line of a stream */
	struct buf data;    /* owned: of the event that is being read */
	LIST_ENTRY(mcp_transfer) entry;
};

/* ---- the members of a message ---- */

/* Takes a text member of an object, decoded, if it exists and fits. */
static void take_text(const char *object, size_t size, const char *name, char *text, size_t room)
{
	const char *value = NULL;
	size_t value_size = 0;
	json_auto_t *json = NULL;

	if (!json_find(object, size, name, &value, &value_size) || value[0] != '"')
		return;
	json = json_loadb(value, value_size, JSON_DECODE_ANY, NULL);
	if (json != NULL && json_string_length(json) < room)
		memcpy(text, json_string_value(json), json_string_length(json) + 1);
}

/* Takes a text or number member as JSON text, if it exists and fits. */
static void take_raw(const char *object, size_t size, const char *name, char *text, size_t room)
{
	const char *value = NULL;
	size_t value_size = 0;

	if (!json_find(object, size, name, &value, &value_size) || value_size >= room ||
	    strchr("\"-0123456789", value[0]) == NULL)
		return;
	memcpy(text, value, value_size);
	text[value_size] = '\0';
}

static void take_params(const char *params, size_t size, struct mcp_envelope *envelope)
{
	static const char *const names[] = {"name", "uri", "taskId"};
	const char *part = NULL;
	size_t part_size = 0;

	for (size_t i = 0; i < ARRAY_LEN(names) && envelope->name[0] == '\0'; i++)
		take_text(params, size, names[i], envelope->name, sizeof(envelope->name));
	take_raw(params, size, "requestId", envelope->cancels, sizeof(envelope->cancels));
	if (json_find(params, size, "_meta", &part, &part_size) && part[0] == '{')
		take_text(part, part_size, META, envelope->version, sizeof(envelope->version));
	if (json_find(params, size, "arguments", &part, &part_size) && part[0] == '{')
		take_text(part, part_size, "session_id", envelope->session,
			  sizeof(envelope->session));
}

void mcp_envelope_read(const char *line, size_t size, struct mcp_envelope *ret_envelope)
{
	const char *params = NULL;
	size_t params_size = 0;

	*ret_envelope = (struct mcp_envelope){0};
	/* The daemon refuses anything that is not an object. */
	if (!json_is_valid(line, size) || line[strspn(line, " \t")] != '{')
		return;
	take_raw(line, size, "id", ret_envelope->id, sizeof(ret_envelope->id));
	take_text(line, size, "method", ret_envelope->method, sizeof(ret_envelope->method));
	if (json_find(line, size, "params", &params, &params_size) && params[0] == '{')
		take_params(params, params_size, ret_envelope);
}

/* ---- what comes back ---- */

static bool is_answer_to(const char *json, size_t size, const char *id)
{
	const char *value = NULL;
	size_t value_size = 0;

	return id[0] != '\0' && json_find(json, size, "id", &value, &value_size) &&
	       value_size == strlen(id) && memcmp(value, id, value_size) == 0 &&
	       !json_find(json, size, "method", &value, &value_size);
}

/* Keeps the version that initialize agreed on: every later message names it. */
static void take_version(struct mcp_transfer *transfer, const char *json, size_t size)
{
	const char *result = NULL, *version = NULL;
	size_t result_size = 0, version_size = 0;

	if (!transfer->is_first || !json_find(json, size, "result", &result, &result_size) ||
	    result[0] != '{' ||
	    !json_find(result, result_size, "protocolVersion", &version, &version_size) ||
	    version_size < 3 || version_size >= sizeof(transfer->route->version))
		return;
	memcpy(transfer->route->version, version + 1, version_size - 2);
	transfer->route->version[version_size - 2] = '\0';
}

static void pass(struct mcp_transfer *transfer, char *json, size_t size)
{
	while (size > 0 && (json[size - 1] == '\n' || json[size - 1] == '\r'))
		size--;
	/* Between the tokens of JSON a newline means nothing; here it would end the message. */
	for (size_t i = 0; i < size; i++) {
		if (json[i] == '\n' || json[i] == '\r')
			json[i] = ' ';
	}
	if (size == 0)
		return;
	transfer->is_answered |= is_answer_to(json, size, transfer->id);
	take_version(transfer, json, size);
	if (!transfer->is_silent)
		transfer->route->message(transfer->route->user, json, size);
}

/* One line of an event stream. */
static int take_stream_line(void *user, const char *line, size_t size)
{
	struct mcp_transfer *transfer = user;

	if (size > 0 && line[size - 1] == '\r')
		size--;
	if (size == 0) {
		pass(transfer, (char *)transfer->data.data, transfer->data.size);
		buf_cut(&transfer->data, 0);
	} else if (size > 6 && strncmp(line, "data: ", 6) == 0) {
		(void)buf_append(&transfer->data, line + 6, size - 6);
	} else if (size > 4 && strncmp(line, "id: ", 4) == 0 &&
		   size - 4 < sizeof(transfer->last_event)) {
		memcpy(transfer->last_event, line + 4, size - 4);
		transfer->last_event[size - 4] = '\0';
	}
	return 0;
}

static int bytes_came(void *user, const void *bytes, size_t size)
{
	struct mcp_transfer *transfer = user;

	return transfer->is_stream
		       ? curl_take_lines(&transfer->bytes, bytes, size, take_stream_line, transfer)
		       : buf_append(&transfer->bytes, bytes, size);
}

static void header_came(void *user, const char *line, size_t size)
{
	static const char stream[] = "text/event-stream";
	struct mcp_transfer *transfer = user;
	struct mcp_route *route = transfer->route;
	const char *value = NULL;
	size_t n = 0;

	if (client_header_is(line, size, "Content-Type:", &value, &n))
		transfer->is_stream =
			n >= strlen(stream) && strncasecmp(value, stream, strlen(stream)) == 0;
	if (transfer->is_first && client_header_is(line, size, "Mcp-Session-Id:", &value, &n) &&
	    n < sizeof(route->session)) {
		memcpy(route->session, value, n);
		route->session[n] = '\0';
	}
}

/* ---- the head of a request ---- */

/* Adds a value of the message as a header: unchanged if possible, else in base64. */
static void add_value(struct buf *headers, const char *name, const char *value)
{
	size_t size = strlen(value);
	static const char before[] = "=?base64?";
	AUTO_BUF struct buf text = {.max = 2048 - sizeof(before) - strlen("?=")};
	bool is_plain = value[0] != ' ' && (size == 0 || value[size - 1] != ' ') &&
			strncmp(value, before, strlen(before)) != 0;

	if (value[0] == '\0')
		return;
	for (size_t i = 0; i < size; i++)
		is_plain = is_plain && value[i] >= ' ' && value[i] <= '~';
	if (is_plain) {
		(void)buf_format(headers, "%s: %s\n", name, value);
		return;
	}
	if (buf_base64(&text, value, size) == 0)
		(void)buf_format(headers, "%s: %s%s?=\n", name, before, buf_string(&text));
}

static void transfer_free(struct mcp_transfer *transfer)
{
	LIST_REMOVE(transfer, entry);
	client_request_free(transfer->request);
	buf_done(&transfer->bytes);
	buf_done(&transfer->data);
	free(transfer);
}

static void add_legacy(struct mcp_transfer *transfer, struct buf *headers)
{
	const struct mcp_route *route = transfer->route;

	transfer->has_session = route->session[0] != '\0';
	if (route->session[0] != '\0')
		(void)buf_format(headers, "Mcp-Session-Id: %s\n", route->session);
	if (route->version[0] != '\0')
		(void)buf_format(headers, "MCP-Protocol-Version: %s\n", route->version);
}

/* ---- the end ---- */

/* Answers the waiting client with an error: the daemon's, if it lacks the id, or our own. */
static void answer_error(struct mcp_transfer *transfer, const char *error, size_t size)
{
	struct buf json;

	buf_init(&json, size + MCP_ID_MAX + KIB);
	(void)buf_format(&json, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":", transfer->id);
	(void)buf_append(&json, error, size);
	if (buf_text(&json, "}") == 0)
		pass(transfer, (char *)json.data, json.size);
	buf_done(&json);
}

static void tell_failure(struct mcp_transfer *transfer, const struct err *why)
{
	struct err nothing = {0};
	struct buf error;

	(void)err_set(&nothing, ERR_INTERNAL, EPROTO,
		      "the daemon at %s answered with HTTP status %ld and no message",
		      client_address(transfer->route->client),
		      client_request_status(transfer->request));
	buf_init(&error, 8 * KIB);
	json_put(&error, "{'code':-32603,'message':%s}", why != NULL ? why->text : nothing.text);
	answer_error(transfer, (const char *)error.data, error.size);
	buf_done(&error);
}

/* Passes on an answer that is one JSON-RPC message; false: it is not. */
static bool take_whole(struct mcp_transfer *transfer)
{
	char *json = (char *)transfer->bytes.data;
	size_t size = transfer->bytes.size;
	const char *value = NULL;
	size_t value_size = 0;

	if (transfer->is_stream || transfer->sent == NULL || !json_is_valid(json, size) ||
	    !json_find(json, size, "jsonrpc", &value, &value_size))
		return false;
	if (transfer->id[0] != '\0' && !json_find(json, size, "id", &value, &value_size) &&
	    json_find(json, size, "error", &value, &value_size))
		answer_error(transfer, value, value_size);
	else
		pass(transfer, json, size);
	return true;
}

static void finish(struct mcp_transfer *transfer, const struct err *why)
{
	struct mcp_route *route = transfer->route;

	if (transfer->sent != NULL && transfer->has_session && !transfer->is_again &&
	    client_request_status(transfer->request) == NOT_FOUND) {
		route->lost(route->user, transfer->sent, transfer->sent_size);
		return;
	}
	if (take_whole(transfer) || transfer->id[0] == '\0' || transfer->is_answered)
		return;
	/* A stream that ended before its answer is resumed after its last event. */
	if (transfer->is_stream && transfer->last_event[0] != '\0' && why == NULL)
		mcp_transfer_plain(route, "GET", transfer->last_event, transfer->id);
	else if (!transfer->is_stream || why != NULL)
		tell_failure(transfer, why);
}

static void transfer_done(void *user, const struct err *why)
{
	struct mcp_transfer *transfer = user;

	finish(transfer, why);
	transfer->request = NULL; /* the client frees it */
	transfer_free(transfer);
}

/* ---- sending ---- */

static struct mcp_transfer *transfer_new(struct mcp_route *route, const char *id)
{
	struct mcp_transfer *transfer = xnew(struct mcp_transfer);

	transfer->route = route;
	(void)snprintf(transfer->id, sizeof(transfer->id), "%s", id);
	buf_init(&transfer->bytes, ANSWER_MAX);
	buf_init(&transfer->data, ANSWER_MAX);
	LIST_INSERT_HEAD(&route->transfers, transfer, entry);
	return transfer;
}

/* Sends the transfer's request; `take_body` may be NULL. */
static void begin(struct mcp_transfer *transfer, const char *method, struct buf *headers,
		  char *take_body)
{
	const struct client_call call = {
		.method = method,
		.path = transfer->route->path,
		.json = take_body,
		.json_size = transfer->sent_size,
		.bytes = bytes_came,
		.header = header_came,
		.done = transfer_done,
		.user = transfer,
		.headers = buf_string(headers),
		.is_carried = true,
	};

	transfer->sent = take_body;
	transfer->request = client_send(transfer->route->client, &call, take_body);
	buf_done(headers);
}

void mcp_transfer_send(struct mcp_route *route, const char *line, size_t size,
		       const struct mcp_envelope *envelope)
{
	struct mcp_transfer *transfer =
		transfer_new(route, envelope->method[0] != '\0' ? envelope->id : "");
	char *body = malloc(size + 1);
	struct buf headers;

	if (body == NULL)
		abort();
	memcpy(body, line, size);
	transfer->sent_size = size;
	transfer->is_waited_for = strcmp(envelope->method, "subscriptions/listen") != 0;
	transfer->is_silent = envelope->is_silent;
	transfer->is_again = envelope->is_again;
	transfer->is_modern = envelope->version[0] != '\0';
	transfer->is_first = !transfer->is_modern && strcmp(envelope->method, "initialize") == 0;
	buf_init(&headers, HEADERS_MAX);
	(void)buf_text(&headers, "Accept: application/json, text/event-stream\nExpect:\n");
	if (transfer->is_modern) {
		add_value(&headers, "MCP-Protocol-Version", envelope->version);
		add_value(&headers, "Mcp-Method", envelope->method);
		add_value(&headers, "Mcp-Name", envelope->name);
		add_value(&headers, "Mcp-Param-Session-Id", envelope->session);
	} else if (!transfer->is_first) {
		add_legacy(transfer, &headers);
	}
	begin(transfer, "POST", &headers, body);
}

void mcp_transfer_plain(struct mcp_route *route, const char *method, const char *last_event,
			const char *id)
{
	struct mcp_transfer *transfer = transfer_new(route, id);
	struct buf headers;

	transfer->is_waited_for = id[0] != '\0' || strcmp(method, "GET") != 0;
	buf_init(&headers, HEADERS_MAX);
	(void)buf_text(&headers, "Accept: text/event-stream\n");
	if (last_event[0] != '\0')
		(void)buf_format(&headers, "Last-Event-ID: %s\n", last_event);
	add_legacy(transfer, &headers);
	begin(transfer, method, &headers, NULL);
}

bool mcp_transfer_drop(struct mcp_route *route, const char *id)
{
	struct mcp_transfer *transfer = NULL;

	LIST_FOREACH(transfer, &route->transfers, entry) {
		if (transfer->is_modern && id[0] != '\0' && strcmp(transfer->id, id) == 0) {
			transfer_free(transfer);
			return true;
		}
	}
	return false;
}

bool mcp_transfer_is_due(const struct mcp_route *route, bool is_first)
{
	const struct mcp_transfer *transfer = NULL;

	LIST_FOREACH(transfer, &route->transfers, entry) {
		if (is_first ? transfer->is_first : transfer->is_waited_for)
			return true;
	}
	return false;
}

void mcp_transfer_end_all(struct mcp_route *route)
{
	struct mcp_transfer *transfer = LIST_FIRST(&route->transfers);

	while (transfer != NULL) {
		struct mcp_transfer *next = LIST_NEXT(transfer, entry);

		transfer_free(transfer);
		transfer = next;
	}
}
