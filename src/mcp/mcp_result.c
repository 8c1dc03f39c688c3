// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"
#include "session/result.h"

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

/* A text of the result, found step by step ("error", "traceback"): what stands between its quotes,
 * which is already as JSON wants it. False: there is none, or it is empty. */
static bool find_text(const char *json, size_t size, const char *first, const char *second,
		      const char **ret_text, size_t *ret_size)
{
	const char *value = NULL;
	size_t value_size = 0;

	if (!json_find(json, size, first, &value, &value_size))
		return false;
	if (second != NULL &&
	    (value[0] != '{' || !json_find(value, value_size, second, &value, &value_size)))
		return false;
	if (value[0] != '"' || value_size < 3)
		return false;
	*ret_text = value + 1;
	*ret_size = value_size - 2;
	return true;
}

static struct verdict verdict_of_result(const char *json, size_t size)
{
	struct result result;

	result_read(json, size, &result);
	return result.verdict;
}

/* The remedy in the words of MCP, as JSON wants it. */
static void show_remedy(struct out *out, const char *result, size_t size)
{
	struct verdict verdict = verdict_of_result(result, size);
	char text[VERDICT_TEXT_MAX];
	struct buf quoted;

	buf_init(&quoted, 8UL * sizeof(text));
	verdict_remedy(&verdict, REMEDY_MCP, text, sizeof(text));
	if (text[0] != '\0' && json_put_text(&quoted, text) == 0) {
		put(out, "remedy: ");
		put_raw(out, (const char *)quoted.data + 1, quoted.size - 2);
		put(out, "\\n");
	}
	buf_done(&quoted);
}

static bool has_failed(const char *result, size_t size)
{
	const char *kind = NULL;
	size_t kind_size = 0;

	return !find_text(result, size, "verdict", "kind", &kind, &kind_size) || kind_size != 2 ||
	       memcmp(kind, "ok", 2) != 0;
}

/* One part of what is shown, on lines of its own. */
static bool show(struct out *out, const char *label, const char *text, size_t size)
{
	bool has_end = size >= 2 && memcmp(text + size - 2, "\\n", 2) == 0;

	put(out, label);
	put_raw(out, text, size);
	put(out, has_end ? "" : "\\n");
	return true;
}

/* As a person would see it: what was printed, the traceback or the value, and for a failure the
 * verdict with what to do about it. */
static void put_shown(struct out *out, const char *result, size_t size)
{
	static const char *const parts[][3] = {
		{"stdout", NULL, ""},
		{"stderr", NULL, ""},
		{"error", "traceback", ""},
		{"result", "text/plain", ""},
		{"checkpoint", "note", "note: "},
	};
	static const char *const failure[][3] = {
		{"verdict", "kind", "verdict: "},
		{"verdict", "message", ""},
		{"state", NULL, "state of the session: "},
	};
	const char *text = NULL;
	size_t n = 0;
	bool is_shown = false;

	put(out, "{\"type\":\"text\",\"text\":\"");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (find_text(result, size, parts[i][0], parts[i][1], &text, &n))
			is_shown = show(out, parts[i][2], text, n);
	}
	for (size_t i = 0; i < ARRAY_LEN(failure) && has_failed(result, size); i++) {
		bool is_dull = failure[i][1] == NULL &&
			       find_text(result, size, "state", NULL, &text, &n) && n == 4 &&
			       memcmp(text, "none", 4) == 0;

		if (failure[i][1] == NULL)
			show_remedy(out, result, size);
		if (!is_dull && find_text(result, size, failure[i][0], failure[i][1], &text, &n))
			is_shown = show(out, failure[i][2], text, n);
	}
	put(out, is_shown ? "\"}" : "(it printed nothing)\"}");
}

static void put_images(struct out *out, const char *charts, size_t size)
{
	struct mcp_item item = {0};

	while (size > 0 && mcp_next_item(charts, size, &item)) {
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

int mcp_put_images(struct buf *buf, const char *charts, size_t size)
{
	struct out out = {.buf = *buf};

	put_images(&out, charts, size);
	*buf = out.buf;
	return out.r;
}

int mcp_put_charts(struct buf *buf, const char *charts, size_t size)
{
	struct out out = {.buf = *buf};

	put_list_without_bytes(&out, charts, size);
	*buf = out.buf;
	return out.r;
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
	char path[4096] = "";
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
	const char *charts = NULL;
	size_t charts_size = 0;

	buf_init(&structured.buf, MCP_ANSWER_MAX);
	buf_init(&out.buf, MCP_ANSWER_MAX);
	put_structured(&structured, result, size);
	put(&out, "\"content\":[");
	put_shown(&out, result, size);
	/* The same for programs that know no structuredContent. */
	put(&out, ",{\"type\":\"text\",\"annotations\":{\"priority\":0.1},\"text\":");
	put_string(&out, (const char *)structured.buf.data, structured.buf.size);
	put(&out, "}");
	if (json_find(result, size, "charts", &charts, &charts_size))
		put_images(&out, charts, charts_size);
	put_links(&out, result, size);
	put(&out, "],\"structuredContent\":");
	put_raw(&out, (const char *)structured.buf.data, structured.buf.size);
	put(&out, has_failed(result, size) ? ",\"isError\":true" : "");
	if (structured.r == 0 && out.r == 0) {
		mcp_answer_members(call, &out.buf);
	} else {
		buf_done(&out.buf);
		mcp_answer_refusal(call, MCP_INTERNAL, "the result is too large for an answer");
	}
	buf_done(&structured.buf);
}
