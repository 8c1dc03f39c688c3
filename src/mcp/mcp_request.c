// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"
#include "session/engine.h"

#define ERROR_MAX (64U << 10)
#define SERVER_INFO                                                                                \
	"\"_meta\":{\"" MCP_META "serverInfo\":{\"name\":\"vivarium\",\"version\":\"" VIV_VERSION  \
	"\"}}"

void mcp_request_free(struct mcp_request *request)
{
	request->mcp->held -= request->held;
	mcp_message_done(&request->message);
	buf_done(&request->bytes);
	free(request->name);
	free(request->peer);
	free(request);
}

static void send_answer(struct mcp_request *request, unsigned status, struct buf *take_json)
{
	mcp_stream_answer(request->stream, status, take_json);
	LIST_REMOVE(request, entry);
	request->mcp->request_count--;
	if (request->session != NULL)
		request->session->busy--;
	if (request->op != NULL)
		mcp_op_drop(request->op);
	if (request->question != NULL)
		mcp_extra->drop_question(request->question);
	mcp_request_free(request);
}

static int put_tail(const struct mcp_request *request, struct buf *buf, bool is_complete)
{
	if (!request->is_modern)
		return buf_text(buf, "}}");
	if (is_complete && request->method != NULL && request->method->is_cached)
		buf_format(buf, "\"ttlMs\":%u,\"cacheScope\":\"private\",",
			   request->method->ttl_ms);
	buf_text(buf, SERVER_INFO "}}");
	return buf->failed;
}

void mcp_reply(struct mcp_request *request, const char *type, const char *members, size_t size)
{
	const char *comma = size > 0 && request->is_modern ? "," : "";
	AUTO_BUF struct buf json = {.max = MCP_ANSWER_MAX + ERROR_MAX};

	buf_format(&json, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{", request->message.id);
	if (request->is_modern)
		buf_format(&json, "\"resultType\":\"%s\",", type != NULL ? type : "complete");
	buf_append(&json, members, size);
	buf_text(&json, comma);
	put_tail(request, &json, type == NULL);
	if (json.failed == 0) {
		send_answer(request, 200, &json);
		return;
	}
	mcp_refuse(request, 500, MCP_INTERNAL, NULL, "the answer is too large");
}

void mcp_reply_buf(struct mcp_request *request, const char *type, struct buf *take_members)
{
	mcp_reply(request, type, (const char *)take_members->data, take_members->size);
	buf_done(take_members);
}

void mcp_put_error(struct buf *buf, const char *id, enum mcp_code code, const char *message,
		   const char *data)
{
	(void)buf_text(buf, "{\"jsonrpc\":\"2.0\"");
	if (id[0] != '\0')
		(void)buf_format(buf, ",\"id\":%s", id);
	json_put(buf, ",'error':{'code':%d,'message':%s", (int)code, message);
	if (data != NULL)
		(void)buf_format(buf, ",\"data\":%s", data);
	(void)buf_text(buf, "}}");
}

void mcp_refuse(struct mcp_request *request, unsigned status, enum mcp_code code, const char *data,
		const char *format, ...)
{
	char message[600];
	AUTO_BUF struct buf json = {.max = ERROR_MAX};
	va_list list;

	va_start(list, format);
	(void)vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	mcp_put_error(&json, request->message.id, code, message, data);
	send_answer(request, status > 0 && request->is_modern ? status : 200, &json);
}

void mcp_request_drop(struct mcp_request *request)
{
	struct mcp_call *call = STEAL(request->call);
	AUTO_BUF struct buf nothing = {.max = 1};

	if (call != NULL)
		mcp_call_cancel(call);
	send_answer(request, 200, &nothing);
}

/* The same id can be written in two ways: "a" and "\\u0061". */
static bool is_same_id(const char *one, const char *other)
{
	json_auto_t *a = NULL, *b = NULL;

	if (strcmp(one, other) == 0)
		return true;
	if (one[0] != '"' || other[0] != '"')
		return false;
	a = json_loads(one, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	b = json_loads(other, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	return a != NULL && b != NULL && json_equal(a, b);
}

struct mcp_request *mcp_request_find(struct mcp_session *session, const char *id)
{
	struct mcp_request *request = NULL;

	LIST_FOREACH(request, &session->mcp->requests, entry) {
		if (request->session == session && is_same_id(request->message.id, id))
			return request;
	}
	return NULL;
}

/* ---- the client's name and capabilities ---- */

void mcp_take_client(struct mcp_request *request)
{
	const struct mcp_message *message = &request->message;
	const json_t *info = request->is_modern
				     ? json_object_get(message->meta, MCP_META "clientInfo")
				     : json_object_get(message->params, "clientInfo");
	struct mcp_session *session = request->session;
	struct op_caller said = {0};

	op_client_set(&said, mcp_text(info, "name"));
	if (session != NULL && said.client[0] != '\0')
		memcpy(session->client, said.client, sizeof(session->client));
	if (session != NULL)
		memcpy(said.client, session->client, sizeof(said.client));
	if (said.client[0] != '\0')
		memcpy(request->caller.client, said.client, sizeof(said.client));
}

const json_t *mcp_capabilities(const struct mcp_request *request)
{
	const json_t *said = json_object_get(request->message.meta, MCP_META "clientCapabilities");

	if (said != NULL || request->session == NULL)
		return said;
	return request->session->capabilities;
}

bool mcp_has_tasks(const struct mcp_request *request)
{
	const json_t *extensions = json_object_get(mcp_capabilities(request), "extensions");

	return request->is_modern && json_object_get(extensions, MCP_TASKS) != NULL;
}

/* ---- messages before the answer ---- */

void mcp_progress(struct mcp_request *request, uint64_t progress, uint64_t total,
		  const char *message, size_t size)
{
	const json_t *token = json_object_get(request->message.meta, "progressToken");
	AUTO_FREE char *text = NULL;
	AUTO_BUF struct buf json = {.max = ERROR_MAX};

	if (!json_is_string(token) && !json_is_number(token))
		return;
	text = json_dumps(token, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	if (text == NULL)
		return;
	request->progress = progress;
	(void)buf_format(&json,
			 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
			 "\"progressToken\":%s,\"progress\":%llu",
			 text, (unsigned long long)progress);
	if (total > 0)
		(void)buf_format(&json, ",\"total\":%llu", (unsigned long long)total);
	if (message != NULL && buf_text(&json, ",\"message\":") == 0)
		(void)json_put_string(&json, message, size);
	if (buf_text(&json, "}}") == 0)
		mcp_stream_send(request->stream, (const char *)json.data, json.size, false);
}

static const char *const levels[] = {
	"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
};

int mcp_log_level(const char *name)
{
	for (size_t i = 0; name != NULL && i < ARRAY_LEN(levels); i++) {
		if (strcmp(levels[i], name) == 0)
			return (int)i;
	}
	return -1;
}

/* Bytes of this token's messages that are under way. */
static size_t held_by(const struct mcp *mcp, const char *token)
{
	const struct mcp_request *request = NULL;
	const struct mcp_call *under_way = NULL;
	size_t held = 0;

	LIST_FOREACH(request, &mcp->requests, entry)
		held += strcmp(request->caller.name, token) == 0 ? request->held : 0;
	LIST_FOREACH(under_way, &mcp->calls, entry)
		held += strcmp(under_way->caller.name, token) == 0 ? under_way->held : 0;
	return held;
}

bool mcp_has_room(const struct mcp *mcp, const struct op_caller *caller, uint64_t more)
{
	if (mcp->held + more > MCP_HELD_MAX)
		return false;
	return mcp->engine->config->token_count < 2 ||
	       held_by(mcp, caller->name) + more <= MCP_HELD_MAX / 2;
}
