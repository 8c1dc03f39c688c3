// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_transfer.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/c.h"
#include "base/json.h"

#define ANSWER_MAX (512UL << 20)
#define CONNECT_MS 10000L
#define NOT_FOUND 404

struct mcp_transfer {
	struct mcp_route *route;    /* borrowed */
	CURL *easy;                 /* owned */
	struct curl_slist *headers; /* owned */
	char *url, *sent;           /* owned */
	size_t sent_size;
	char id[MCP_ID_MAX]; /* of the request whose answer is due; "": none is */
	char last_event[64];
	bool is_modern, is_first, is_stream, is_answered;
	bool is_silent, is_again;
	bool has_session;   /* it names one of the 2025 era */
	bool is_waited_for; /* all but streams of what is said unasked */
	CURLcode code;
	long status;
	struct buf bytes; /* owned: JSON, or the line of a stream that is not whole yet */
	struct buf data;  /* owned: of the event that is being read */
	LIST_ENTRY(mcp_transfer) entry;
};

/* ---- what comes back ---- */

static bool is_answer_to(const char *json, size_t size, const char *id)
{
	const char *value = NULL;
	size_t value_size = 0;

	return id[0] != '\0' && json_find(json, size, "id", &value, &value_size) &&
	       value_size == strlen(id) && memcmp(value, id, value_size) == 0 &&
	       !json_find(json, size, "method", &value, &value_size);
}

/* What initialize agreed on is in every later message. */
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
	/* Between the words of JSON a line break means nothing; here it would end the message. */
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
static void take_stream_line(struct mcp_transfer *transfer, const char *line, size_t size)
{
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
}

static int take_stream(struct mcp_transfer *transfer, const char *bytes, size_t size)
{
	int r = 0;

	while (r == 0 && size > 0) {
		const char *end = memchr(bytes, '\n', size);
		size_t piece = end != NULL ? (size_t)(end - bytes) : size;

		r = buf_append(&transfer->bytes, bytes, piece);
		if (r == 0 && end != NULL) {
			take_stream_line(transfer, (const char *)transfer->bytes.data,
					 transfer->bytes.size);
			buf_cut(&transfer->bytes, 0);
		}
		bytes += piece + (end != NULL ? 1 : 0);
		size -= piece + (end != NULL ? 1 : 0);
	}
	return r;
}

static size_t bytes_came(char *bytes, size_t one, size_t size, void *user)
{
	struct mcp_transfer *transfer = user;
	int r = transfer->is_stream ? take_stream(transfer, bytes, size)
				    : buf_append(&transfer->bytes, bytes, size);

	(void)one;
	return r < 0 ? 0 : size;
}

static bool is_header(const char *line, size_t size, const char *name, const char **ret_value,
		      size_t *ret_size)
{
	size_t n = strlen(name);

	if (size <= n || strncasecmp(line, name, n) != 0)
		return false;
	line += n;
	size -= n;
	while (size > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		size--;
	}
	while (size > 0 && strchr(" \t\r\n", line[size - 1]) != NULL)
		size--;
	*ret_value = line;
	*ret_size = size;
	return true;
}

static size_t header_came(char *line, size_t one, size_t size, void *user)
{
	static const char stream[] = "text/event-stream";
	struct mcp_transfer *transfer = user;
	struct mcp_route *route = transfer->route;
	const char *value = NULL;
	size_t n = 0;

	(void)one;
	if (is_header(line, size, "Content-Type:", &value, &n))
		transfer->is_stream =
			n >= strlen(stream) && strncasecmp(value, stream, strlen(stream)) == 0;
	if (transfer->is_first && is_header(line, size, "Mcp-Session-Id:", &value, &n) &&
	    n < sizeof(route->session)) {
		memcpy(route->session, value, n);
		route->session[n] = '\0';
	}
	return size;
}

/* ---- what is sent ---- */

static void add_header(struct mcp_transfer *transfer, const char *name, const char *value)
{
	struct curl_slist *headers = NULL;
	struct buf line;

	buf_init(&line, 16 * KIB);
	(void)buf_format(&line, "%s: %s", name, value);
	headers = transfer->route->curl.slist_append(transfer->headers, buf_string(&line));
	buf_done(&line);
	if (headers == NULL)
		abort();
	transfer->headers = headers;
}

/* A value of the message as a header: as it is where that is possible, else in base64. */
static void add_value(struct mcp_transfer *transfer, const char *name, const char *value)
{
	size_t size = strlen(value);
	char text[2048] = "=?base64?";
	size_t used = strlen(text);
	bool is_plain = value[0] != ' ' && (size == 0 || value[size - 1] != ' ') &&
			strncmp(value, text, used) != 0;

	if (value[0] == '\0')
		return;
	for (size_t i = 0; i < size; i++)
		is_plain = is_plain && value[i] >= ' ' && value[i] <= '~';
	if (is_plain) {
		add_header(transfer, name, value);
		return;
	}
	if (sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL) + used + 2 >
	    sizeof(text))
		return;
	(void)sodium_bin2base64(text + used, sizeof(text) - used, (const unsigned char *)value,
				size, sodium_base64_VARIANT_ORIGINAL);
	(void)strncat(text, "?=", sizeof(text) - strlen(text) - 1);
	add_header(transfer, name, text);
}

static struct mcp_transfer *transfer_new(struct mcp_route *route, const char *method)
{
	struct mcp_transfer *transfer = xnew(struct mcp_transfer);
	const struct curl *curl = &route->curl;
	const struct client_way *way = route->way;

	transfer->route = route;
	buf_init(&transfer->bytes, ANSWER_MAX);
	buf_init(&transfer->data, ANSWER_MAX);
	transfer->easy = curl->easy_init();
	if (transfer->easy == NULL || asprintf(&transfer->url, "%s%s", way->url, route->path) < 0)
		abort();
	(void)curl->easy_setopt(transfer->easy, CURLOPT_URL, transfer->url);
	if (way->socket != NULL)
		(void)curl->easy_setopt(transfer->easy, CURLOPT_UNIX_SOCKET_PATH, way->socket);
	/* What is meant for this daemon goes to nobody in between. */
	(void)curl->easy_setopt(transfer->easy, CURLOPT_PROXY, "");
	(void)curl->easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_USERAGENT, "viv/" VIV_VERSION);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, bytes_came);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_WRITEDATA, transfer);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_HEADERFUNCTION, header_came);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_HEADERDATA, transfer);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_CUSTOMREQUEST, method);
	if (way->token != NULL) {
		char bearer[1100];

		(void)snprintf(bearer, sizeof(bearer), "Bearer %s", way->token);
		add_header(transfer, "Authorization", bearer);
	}
	LIST_INSERT_HEAD(&route->transfers, transfer, entry);
	return transfer;
}

static void transfer_free(struct mcp_transfer *transfer)
{
	const struct curl *curl = &transfer->route->curl;

	LIST_REMOVE(transfer, entry);
	(void)curl->multi_remove_handle(transfer->route->multi, transfer->easy);
	curl->easy_cleanup(transfer->easy);
	curl->slist_free_all(transfer->headers);
	free(transfer->url);
	free(transfer->sent);
	buf_done(&transfer->bytes);
	buf_done(&transfer->data);
	free(transfer);
}

static int begin(struct mcp_transfer *transfer, struct err *err)
{
	const struct curl *curl = &transfer->route->curl;

	(void)curl->easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
	if (curl->multi_add_handle(transfer->route->multi, transfer->easy) == CURLM_OK)
		return 0;
	transfer_free(transfer);
	return err_set(err, ERR_INTERNAL, EIO, "cannot begin a request");
}

static void add_legacy(struct mcp_transfer *transfer)
{
	const struct mcp_route *route = transfer->route;

	transfer->has_session = route->session[0] != '\0';
	if (route->session[0] != '\0')
		add_header(transfer, "Mcp-Session-Id", route->session);
	if (route->version[0] != '\0')
		add_header(transfer, "MCP-Protocol-Version", route->version);
}

int mcp_transfer_send(struct mcp_route *route, const char *line, size_t size,
		      const struct mcp_envelope *envelope, struct err *err)
{
	struct mcp_transfer *transfer = transfer_new(route, "POST");
	const struct curl *curl = &route->curl;

	transfer->is_waited_for = strcmp(envelope->method, "subscriptions/listen") != 0;
	transfer->sent = malloc(size + 1);
	if (transfer->sent == NULL)
		abort();
	memcpy(transfer->sent, line, size);
	transfer->sent_size = size;
	transfer->is_silent = envelope->is_silent;
	transfer->is_again = envelope->is_again;
	if (envelope->method[0] != '\0')
		(void)snprintf(transfer->id, sizeof(transfer->id), "%s", envelope->id);
	transfer->is_modern = envelope->version[0] != '\0';
	transfer->is_first = !transfer->is_modern && strcmp(envelope->method, "initialize") == 0;
	(void)curl->easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, transfer->sent);
	add_header(transfer, "Content-Type", "application/json");
	add_header(transfer, "Accept", "application/json, text/event-stream");
	add_header(transfer, "Expect", "");
	if (transfer->is_modern) {
		add_value(transfer, "MCP-Protocol-Version", envelope->version);
		add_value(transfer, "Mcp-Method", envelope->method);
		add_value(transfer, "Mcp-Name", envelope->name);
		add_value(transfer, "Mcp-Param-Session-Id", envelope->session);
	} else if (!transfer->is_first) {
		add_legacy(transfer);
	}
	return begin(transfer, err);
}

int mcp_transfer_plain(struct mcp_route *route, const char *method, const char *last_event,
		       const char *id, struct err *err)
{
	struct mcp_transfer *transfer = transfer_new(route, method);

	(void)snprintf(transfer->id, sizeof(transfer->id), "%s", id);
	transfer->is_waited_for = id[0] != '\0' || strcmp(method, "GET") != 0;
	add_header(transfer, "Accept", "text/event-stream");
	if (last_event[0] != '\0')
		add_header(transfer, "Last-Event-ID", last_event);
	add_legacy(transfer);
	return begin(transfer, err);
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

/* ---- the end ---- */

/* An answer for who waits for one: what the daemon refused before it knew the id, or our own. */
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

static void tell_failure(struct mcp_transfer *transfer)
{
	const struct mcp_route *route = transfer->route;
	char why[400];
	struct buf error;

	if (transfer->code != CURLE_OK)
		(void)snprintf(why, sizeof(why), "the daemon at %s cannot be reached: %s",
			       route->way->address, route->curl.easy_strerror(transfer->code));
	else
		(void)snprintf(why, sizeof(why), "the daemon at %s answered %ld and nothing else",
			       route->way->address, transfer->status);
	buf_init(&error, 8 * KIB);
	(void)buf_text(&error, "{\"code\":-32603,\"message\":");
	(void)json_put_text(&error, why);
	(void)buf_text(&error, "}");
	answer_error(transfer, (const char *)error.data, error.size);
	buf_done(&error);
}

/* A message of JSON-RPC that is the whole answer; false: it is none. */
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

static void finish(struct mcp_transfer *transfer)
{
	struct mcp_route *route = transfer->route;
	struct err err = {0};

	(void)route->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->status);
	if (transfer->sent != NULL && transfer->has_session && !transfer->is_again &&
	    transfer->status == NOT_FOUND) {
		route->lost(route->user, transfer->sent, transfer->sent_size);
		return;
	}
	if (take_whole(transfer) || transfer->id[0] == '\0' || transfer->is_answered)
		return;
	/* A stream that was let go before its answer is taken up again. */
	if (transfer->is_stream && transfer->last_event[0] != '\0' && transfer->code == CURLE_OK)
		(void)mcp_transfer_plain(route, "GET", transfer->last_event, transfer->id, &err);
	else if (!transfer->is_stream || transfer->code != CURLE_OK)
		tell_failure(transfer);
}

void mcp_transfer_reap(struct mcp_route *route)
{
	CURLMsg *message = NULL;
	int left = 0;

	while ((message = route->curl.multi_info_read(route->multi, &left)) != NULL) {
		struct mcp_transfer *transfer = NULL;
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)route->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		transfer->code = code;
		finish(transfer);
		transfer_free(transfer);
	}
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
