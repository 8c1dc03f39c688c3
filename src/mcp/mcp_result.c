// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"
#include "session/result.h"
#include "session/testimony.h"

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

static void put_structured(struct out *out, const struct result *result)
{
	const char *joint = "{";

	for (size_t i = 0; i < RESULT_COUNT; i++) {
		struct span value = result->members[i];

		if (value.size == 0)
			continue;
		put(out, joint);
		put_string(out, result_rows[i].name, strlen(result_rows[i].name));
		put(out, ":");
		if ((i == RESULT_CHARTS || i == RESULT_FILES) && value.at[0] == '[')
			put_list_without_bytes(out, value.at, value.size);
		else
			put_raw(out, value.at, value.size);
		if (i == RESULT_SESSION && value.at[0] == '"') {
			put(out, ",\"session_id\":");
			put_raw(out, value.at, value.size);
		}
		joint = ",";
	}
	put(out, joint[0] == '{' ? "{}" : "}");
}

/* ---- what else a model or a person sees ---- */

/* One part of what is shown. */
struct part {
	enum result_member member;
	const char *name; /* of a member of it that is meant; NULL: all of it */
	const char *label;
};

/* The text of a member, or of a member of its object: what stands between its quotes, which is
 * already as JSON wants it. Size 0: there is none, or it is empty. */
static struct span text_of(const struct result *result, enum result_member member, const char *name)
{
	struct span value = result->members[member];

	if (name != NULL && (value.size == 0 || value.at[0] != '{' ||
			     !json_find(value.at, value.size, name, &value.at, &value.size)))
		return (struct span){0};
	if (value.size < 3 || value.at[0] != '"')
		return (struct span){0};
	return (struct span){value.at + 1, value.size - 2};
}

/* The remedy in the words of MCP, as JSON wants it. */
static void show_remedy(struct out *out, const struct verdict *verdict)
{
	char text[VERDICT_TEXT_MAX];
	struct buf quoted;

	buf_init(&quoted, 8UL * sizeof(text));
	verdict_remedy(verdict, REMEDY_MCP, text, sizeof(text));
	if (text[0] != '\0' && json_put_text(&quoted, text) == 0) {
		put(out, "remedy: ");
		put_raw(out, (const char *)quoted.data + 1, quoted.size - 2);
		put(out, "\\n");
	}
	buf_done(&quoted);
}

/* Parts of what is shown, each on lines of its own; true: there was one. */
static bool show(struct out *out, const struct result *result, const struct part *parts, size_t n)
{
	bool is_shown = false;

	for (size_t i = 0; i < n; i++) {
		struct span text = text_of(result, parts[i].member, parts[i].name);
		bool has_end = text.size >= 2 && memcmp(text.at + text.size - 2, "\\n", 2) == 0;

		if (text.size == 0)
			continue;
		put(out, parts[i].label);
		put_raw(out, text.at, text.size);
		put(out, has_end ? "" : "\\n");
		is_shown = true;
	}
	return is_shown;
}

/* As a person would see it: what was printed, the traceback or the value, and for a failure the
 * verdict with what to do about it. */
static void put_shown(struct out *out, const struct result *result)
{
	static const struct part parts[] = {
		{RESULT_STDOUT, NULL, ""},
		{RESULT_STDERR, NULL, ""},
		{RESULT_ERROR, "traceback", ""},
		{RESULT_RESULT, "text/plain", ""},
		{RESULT_CHECKPOINT, "note", "note: "},
	};
	static const struct part failure[] = {
		{RESULT_VERDICT, "kind", "verdict: "},
		{RESULT_VERDICT, "message", ""},
	};
	static const struct part state = {RESULT_STATE, NULL, "state of the session: "};
	struct span left = text_of(result, RESULT_STATE, NULL);
	bool is_shown;

	put(out, "{\"type\":\"text\",\"text\":\"");
	is_shown = show(out, result, parts, ARRAY_LEN(parts));
	if (result->verdict.kind != VERDICT_OK) {
		is_shown |= show(out, result, failure, ARRAY_LEN(failure));
		show_remedy(out, &result->verdict);
		if (left.size != 4 || memcmp(left.at, "none", 4) != 0)
			is_shown |= show(out, result, &state, 1);
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

	if (json_find(file->value, file->value_size, "path", &value, &value_size))
		testimony_text(value, value_size, path, sizeof(path));
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
static void put_links(struct out *out, const struct result *result)
{
	struct span session = text_of(result, RESULT_SESSION, NULL);
	struct span owner = session.size > 0 ? session : text_of(result, RESULT_ID, NULL);
	struct span files = result->members[RESULT_FILES];
	struct mcp_item item = {0};
	char id[ID_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)owner.size, owner.size > 0 ? owner.at : "");
	for (int i = 0;
	     files.size > 0 && i < LINKS_MAX && mcp_next_item(files.at, files.size, &item); i++)
		put_link(out, id, &item);
}

void mcp_answer_run(struct mcp_call *call, const char *json, size_t size)
{
	struct out structured = {0}, out = {0};
	struct result result;

	result_read(json, size, &result);
	buf_init(&structured.buf, MCP_ANSWER_MAX);
	buf_init(&out.buf, MCP_ANSWER_MAX);
	put_structured(&structured, &result);
	put(&out, "\"content\":[");
	put_shown(&out, &result);
	/* The same for programs that know no structuredContent. */
	put(&out, ",{\"type\":\"text\",\"annotations\":{\"priority\":0.1},\"text\":");
	put_string(&out, (const char *)structured.buf.data, structured.buf.size);
	put(&out, "}");
	put_images(&out, result.members[RESULT_CHARTS].at, result.members[RESULT_CHARTS].size);
	put_links(&out, &result);
	put(&out, "],\"structuredContent\":");
	put_raw(&out, (const char *)structured.buf.data, structured.buf.size);
	put(&out, result.verdict.kind != VERDICT_OK ? ",\"isError\":true" : "");
	if (structured.r == 0 && out.r == 0) {
		mcp_answer_members(call, &out.buf);
	} else {
		buf_done(&out.buf);
		mcp_answer_refusal(call, MCP_INTERNAL, "the result is too large for an answer");
	}
	buf_done(&structured.buf);
}
