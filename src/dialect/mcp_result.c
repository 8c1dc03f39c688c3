// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "dialect/mcp_inside.h"

#define LINKS_MAX 200
#define WORKSPACE "/workspace/"

/* Text that is being written; the first failure stays. */
struct out {
	struct buf buf;
	int r;
};

static void put(struct out *out, const char *text)
{
	if (out->r == 0)
		out->r = buf_text(&out->buf, text);
}

static void put_raw(struct out *out, const char *text, size_t size)
{
	if (out->r == 0)
		out->r = buf_append(&out->buf, text, size);
}

static void put_string(struct out *out, const char *text, size_t size)
{
	if (out->r == 0)
		out->r = json_put_string(&out->buf, text, size);
}

static bool key_is(const struct mcp_item *item, const char *name)
{
	return item->key_size == strlen(name) + 2 && memcmp(item->key + 1, name, strlen(name)) == 0;
}

/* ---- the structured part: all but the bytes ---- */

static void put_without_bytes(struct out *out, const char *object, size_t size)
{
	struct mcp_item item = {0};
	const char *joint = "{";

	while (mcp_next_item(object, size, &item)) {
		if (key_is(&item, "base64"))
			continue;
		put(out, joint);
		put_raw(out, item.key, item.key_size);
		put(out, ":");
		put_raw(out, item.value, item.value_size);
		joint = ",";
	}
	put(out, joint[0] == '{' ? "{}" : "}");
}

static void put_list_without_bytes(struct out *out, const char *list, size_t size)
{
	struct mcp_item item = {0};
	const char *joint = "[";

	while (mcp_next_item(list, size, &item)) {
		put(out, joint);
		put_without_bytes(out, item.value, item.value_size);
		joint = ",";
	}
	put(out, joint[0] == '[' ? "[]" : "]");
}

static void put_structured(struct out *out, const char *result, size_t size)
{
	struct mcp_item item = {0};
	const char *joint = "{";

	while (mcp_next_item(result, size, &item)) {
		put(out, joint);
		put_raw(out, item.key, item.key_size);
		put(out, ":");
		if ((key_is(&item, "charts") || key_is(&item, "files")) && item.value[0] == '[')
			put_list_without_bytes(out, item.value, item.value_size);
		else
			put_raw(out, item.value, item.value_size);
		if (key_is(&item, "session") && item.value[0] == '"') {
			put(out, ",\"session_id\":");
			put_raw(out, item.value, item.value_size);
		}
		joint = ",";
	}
	put(out, joint[0] == '{' ? "{}" : "}");
}

/* ---- what else a model or a person sees ---- */

/* A text of an object, decoded; "" when there is none. */
static void take_text(const char *object, size_t size, const char *name, char *text, size_t room)
{
	const char *value = NULL;
	size_t value_size = 0;
	json_auto_t *json = NULL;

	text[0] = '\0';
	if (!json_find(object, size, name, &value, &value_size) || value[0] != '"')
		return;
	json = json_loadb(value, value_size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (json != NULL)
		(void)snprintf(text, room, "%s", json_string_value(json));
}

struct failure {
	char kind[32], message[2000], remedy[1000], type[200], said[2000];
};

/* How it ended; false: well. */
static bool take_failure(const char *result, size_t size, struct failure *failure)
{
	const char *value = NULL;
	size_t value_size = 0;

	*failure = (struct failure){0};
	if (json_find(result, size, "verdict", &value, &value_size) && value[0] == '{') {
		take_text(value, value_size, "kind", failure->kind, sizeof(failure->kind));
		take_text(value, value_size, "message", failure->message, sizeof(failure->message));
		take_text(value, value_size, "remedy", failure->remedy, sizeof(failure->remedy));
	}
	if (json_find(result, size, "error", &value, &value_size) && value[0] == '{') {
		take_text(value, value_size, "type", failure->type, sizeof(failure->type));
		take_text(value, value_size, "message", failure->said, sizeof(failure->said));
	}
	return strcmp(failure->kind, "ok") != 0;
}

static void put_failure(struct out *out, const struct failure *failure)
{
	char text[sizeof(*failure) + 16];
	bool has_error = failure->type[0] != '\0';

	(void)snprintf(text, sizeof(text), "%s: %s%s%s%s%s", failure->kind,
		       has_error ? failure->type : failure->message, has_error ? ": " : "",
		       has_error ? failure->said : "", failure->remedy[0] != '\0' ? "\n" : "",
		       failure->remedy);
	put(out, "{\"type\":\"text\",\"text\":");
	put_string(out, text, strlen(text));
	put(out, "},");
}

static void put_images(struct out *out, const char *result, size_t size)
{
	const char *charts = NULL;
	size_t charts_size = 0;
	struct mcp_item item = {0};

	if (!json_find(result, size, "charts", &charts, &charts_size))
		return;
	while (mcp_next_item(charts, charts_size, &item)) {
		const char *data = NULL, *mime = NULL;
		size_t data_size = 0, mime_size = 0;

		if (!json_find(item.value, item.value_size, "base64", &data, &data_size) ||
		    !json_find(item.value, item.value_size, "mime", &mime, &mime_size) ||
		    data[0] != '"' || strncmp(mime, "\"image/", 7) != 0)
			continue;
		put(out, ",{\"type\":\"image\",\"data\":");
		put_raw(out, data, data_size);
		put(out, ",\"mimeType\":");
		put_raw(out, mime, mime_size);
		put(out, "}");
	}
}

/* What a URI may have as it is (RFC 3986: unreserved and the slash); all else is escaped. */
static void put_uri(struct out *out, const char *id, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";
	char escaped[4];

	put(out, "\"sandbox://");
	put(out, id);
	put(out, "/");
	for (; *path != '\0'; path++) {
		if (strchr(plain, *path) != NULL) {
			put_raw(out, path, 1);
			continue;
		}
		(void)snprintf(escaped, sizeof(escaped), "%%%02X", (unsigned char)*path);
		put(out, escaped);
	}
	put(out, "\"");
}

static void put_link(struct out *out, const char *id, const struct mcp_item *file)
{
	static const char *const members[][2] = {{"mime", "mimeType"}, {"size", "size"}};
	char path[4096];
	const char *name, *value = NULL;
	size_t value_size = 0;

	take_text(file->value, file->value_size, "path", path, sizeof(path));
	if (strncmp(path, WORKSPACE, strlen(WORKSPACE)) != 0)
		return;
	name = strrchr(path, '/') + 1;
	put(out, ",{\"type\":\"resource_link\",\"uri\":");
	put_uri(out, id, path + strlen(WORKSPACE));
	put(out, ",\"name\":");
	put_string(out, name, strlen(name));
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (!json_find(file->value, file->value_size, members[i][0], &value, &value_size) ||
		    value[0] == 'n')
			continue;
		put(out, ",\"");
		put(out, members[i][1]);
		put(out, "\":");
		put_raw(out, value, value_size);
	}
	put(out, "}");
}

/* The files of a session are read from it; of a run of its own, from its log. */
static void put_links(struct out *out, const char *result, size_t size)
{
	const char *files = NULL;
	size_t files_size = 0;
	struct mcp_item item = {0};
	char id[ID_SIZE];

	take_text(result, size, "session", id, sizeof(id));
	if (id[0] == '\0')
		take_text(result, size, "id", id, sizeof(id));
	if (!json_find(result, size, "files", &files, &files_size))
		return;
	for (int i = 0; i < LINKS_MAX && mcp_next_item(files, files_size, &item); i++)
		put_link(out, id, &item);
}

void mcp_answer_run(struct mcp_call *call, const char *result, size_t size)
{
	struct out structured = {0}, out = {0};
	struct failure failure;
	bool has_failed = take_failure(result, size, &failure);

	buf_init(&structured.buf, MCP_ANSWER_MAX);
	buf_init(&out.buf, MCP_ANSWER_MAX);
	put_structured(&structured, result, size);
	put(&out, "\"content\":[");
	if (has_failed)
		put_failure(&out, &failure);
	put(&out, "{\"type\":\"text\",\"text\":");
	put_string(&out, (const char *)structured.buf.data, structured.buf.size);
	put(&out, "}");
	put_images(&out, result, size);
	put_links(&out, result, size);
	put(&out, "],\"structuredContent\":");
	put_raw(&out, (const char *)structured.buf.data, structured.buf.size);
	put(&out, has_failed ? ",\"isError\":true" : "");
	if (structured.r == 0 && out.r == 0) {
		mcp_answer_members(call, &out.buf);
	} else {
		buf_done(&out.buf);
		mcp_answer_refusal(call, MCP_INTERNAL, "the result is too large for an answer");
	}
	buf_done(&structured.buf);
}
