// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

#define INSTRUCTIONS                                                                               \
	"Runs untrusted Python behind kernel walls. run_python runs code at once in a fresh "      \
	"sandbox; create_session gives a session_id with which variables and files stay between "  \
	"runs. A failed run says why and what to do about it."

#define TTL_MS 60000 /* clients may cache lists that do not change while we run */

/* ---- versions and capabilities ---- */

static const char *const legacy_versions[] = {
	MCP_NEWEST_LEGACY,
	"2025-06-18",
	"2025-03-26",
	"2024-11-05",
};

const char *mcp_legacy_version(const char *version)
{
	for (size_t i = 0; version != NULL && i < ARRAY_LEN(legacy_versions); i++) {
		if (strcmp(legacy_versions[i], version) == 0)
			return legacy_versions[i];
	}
	return NULL;
}

int mcp_put_versions(struct buf *buf)
{
	buf_text(buf, "[\"" MCP_NEWEST "\"");
	for (size_t i = 0; i < ARRAY_LEN(legacy_versions); i++)
		buf_format(buf, ",\"%s\"", legacy_versions[i]);
	buf_text(buf, "]");
	return buf->failed;
}

static int put_capabilities(const struct mcp_request *request, struct buf *buf)
{
	bool has_all = mcp_extra != NULL;

	buf_text(buf, has_all ? "\"capabilities\":{\"tools\":{\"listChanged\":true},"
				"\"prompts\":{\"listChanged\":true},\"resources\":{"
				"\"subscribe\":true,\"listChanged\":true},"
				"\"completions\":{},\"logging\":{}"
			      : "\"capabilities\":{\"tools\":{},\"resources\":{}");
	if (request->is_modern)
		buf_text(buf, ",\"extensions\":{\"" MCP_TASKS "\":{}}");
	buf_text(buf, "}");
	return buf->failed;
}

static void call_discover(struct mcp_request *request)
{
	AUTO_BUF struct buf members = {.max = 16 * KIB};

	(void)buf_text(&members, "\"supportedVersions\":");
	(void)mcp_put_versions(&members);
	(void)buf_text(&members, ",");
	(void)put_capabilities(request, &members);
	json_put(&members, ",'instructions':%s", INSTRUCTIONS);
	mcp_reply_buf(request, NULL, &members);
}

static void call_initialize(struct mcp_request *request)
{
	const json_t *capabilities = json_object_get(request->message.params, "capabilities");
	struct mcp_session *session = request->session;
	AUTO_BUF struct buf members = {.max = 16 * KIB};

	if (json_is_object(capabilities)) {
		json_decref(session->capabilities);
		session->capabilities = json_deep_copy(capabilities);
	}
	(void)buf_format(&members, "\"protocolVersion\":\"%s\",", session->version);
	(void)put_capabilities(request, &members);
	(void)buf_text(&members, ",\"serverInfo\":{\"name\":\"vivarium\",\"title\":\"Vivarium\","
				 "\"version\":\"" VIV_VERSION "\"},\"instructions\":");
	(void)json_put_text(&members, INSTRUCTIONS);
	mcp_reply_buf(request, NULL, &members);
}

static void call_nothing(struct mcp_request *request)
{
	mcp_reply(request, NULL, "", 0);
}

static void call_set_level(struct mcp_request *request)
{
	int level = mcp_log_level(mcp_text(request->message.params, "level"));

	if (level < 0) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "level: must be debug, info, notice, warning, error, critical, "
			   "alert or emergency");
		return;
	}
	request->session->log_level = level;
	mcp_reply(request, NULL, "", 0);
}

static void call_subscribe(struct mcp_request *request)
{
	if (mcp_text(request->message.params, "uri") == NULL) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "uri: a text is required");
		return;
	}
	mcp_reply(request, NULL, "", 0);
}

/* ---- prompts: none of our own ---- */

static void call_prompts_list(struct mcp_request *request)
{
	if (mcp_extra != NULL)
		mcp_extra->prompts_list(request);
	else
		mcp_reply(request, NULL, "\"prompts\":[]", strlen("\"prompts\":[]"));
}

static void call_prompts_get(struct mcp_request *request)
{
	if (mcp_extra != NULL)
		mcp_extra->prompts_get(request);
	else
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "there are no prompts here");
}

static void call_complete(struct mcp_request *request)
{
	static const char none[] = "\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}";

	if (!json_is_object(json_object_get(request->message.params, "ref")) ||
	    !json_is_object(json_object_get(request->message.params, "argument"))) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "ref and argument: an object is required for each");
		return;
	}
	mcp_reply(request, NULL, none, sizeof(none) - 1);
}

/* ---- subscriptions of the 2026 era ---- */

static unsigned wanted_changes(const struct mcp_request *request)
{
	static const struct {
		const char *name;
		enum mcp_change change;
	} all[] = {
		{"toolsListChanged", MCP_CHANGE_TOOLS},
		{"promptsListChanged", MCP_CHANGE_PROMPTS},
		{"resourcesListChanged", MCP_CHANGE_RESOURCES},
	};
	const json_t *said = json_object_get(request->message.params, "notifications");
	unsigned wants = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (json_is_true(json_object_get(said, all[i].name)))
			wants |= all[i].change;
	}
	/* Our own lists never change. */
	return mcp_extra != NULL ? wants : 0;
}

static void call_listen(struct mcp_request *request)
{
	struct mcp *mcp = request->mcp;
	struct mcp_stream *stream = request->stream;
	unsigned wants = wanted_changes(request);
	AUTO_BUF struct buf json = {.max = 4 * KIB};

	if (!json_is_object(json_object_get(request->message.params, "notifications"))) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "notifications: an object is required");
		return;
	}
	if (mcp->listener_count >= MCP_LISTENERS_MAX) {
		mcp_refuse(request, 503, MCP_INTERNAL, NULL,
			   "%d clients are listening already; try again later", MCP_LISTENERS_MAX);
		return;
	}
	mcp->listener_count++;
	stream->is_listener = true;
	stream->wants = wants;
	(void)snprintf(stream->id, sizeof(stream->id), "%s", request->message.id);
	(void)buf_format(&json,
			 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
			 "acknowledged\",\"params\":{\"_meta\":{\"" MCP_META
			 "subscriptionId\":%s},\"notifications\":{%s%s%s%s%s}}}",
			 stream->id, (wants & 1) != 0 ? "\"toolsListChanged\":true" : "",
			 (wants & 1) != 0 && (wants & 6) != 0 ? "," : "",
			 (wants & 2) != 0 ? "\"promptsListChanged\":true" : "",
			 (wants & 2) != 0 && (wants & 4) != 0 ? "," : "",
			 (wants & 4) != 0 ? "\"resourcesListChanged\":true" : "");
	mcp_stream_send(stream, (const char *)json.data, json.size, true);
}

/* ---- the table of methods ---- */

static const struct mcp_method methods[] = {
	{"initialize", call_initialize, .in_legacy = true},
	{"ping", call_nothing, .in_legacy = true},
	{"logging/setLevel", call_set_level, .in_legacy = true},
	{"server/discover", call_discover, .in_modern = true, .is_cached = true, .ttl_ms = TTL_MS},
	{"subscriptions/listen", call_listen, .in_modern = true},
	{"tools/list", mcp_tools_list, true, true, .is_cached = true, .ttl_ms = TTL_MS},
	{"tools/call", mcp_tools_call, true, true, .name_param = "name"},
	{"resources/list", mcp_resources_list, true, true, .is_cached = true},
	{"resources/templates/list", mcp_resources_templates, true, true, .is_cached = true},
	{"resources/read", mcp_resources_read, true, true, .is_cached = true, .name_param = "uri"},
	{"resources/subscribe", call_subscribe, .in_legacy = true},
	{"resources/unsubscribe", call_subscribe, .in_legacy = true},
	{"prompts/list", call_prompts_list, true, true, .is_cached = true},
	{"prompts/get", call_prompts_get, true, true, .name_param = "name"},
	{"completion/complete", call_complete, true, true},
	{"tasks/get", mcp_tasks_get, .in_modern = true, .name_param = "taskId"},
	{"tasks/update", mcp_tasks_update, .in_modern = true, .name_param = "taskId"},
	{"tasks/cancel", mcp_tasks_cancel, .in_modern = true, .name_param = "taskId"},
};

const struct mcp_method *mcp_method_find(const char *name, bool is_modern)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if ((is_modern ? methods[i].in_modern : methods[i].in_legacy) &&
		    strcmp(methods[i].name, name) == 0)
			return &methods[i];
	}
	return NULL;
}
