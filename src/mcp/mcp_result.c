// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"
#include "session/result.h"

#define LINKS_MAX 200
#define WORKSPACE "/workspace/"

/* ---- the structured part: all but the bytes ---- */

static void put_without_bytes(struct buf *out, const struct json_member *object)
{
	struct json_member member = {0};
	const char *joint = "{";

	while (json_next(object->value, object->size, &member)) {
		if (json_is_named(&member, "base64"))
			continue;
		buf_text(out, joint);
		buf_append(out, member.name, member.name_size);
		buf_text(out, ":");
		buf_append(out, member.value, member.size);
		joint = ",";
	}
	buf_text(out, joint[0] == '{' ? "{}" : "}");
}

int mcp_put_charts(struct buf *buf, struct span list)
{
	struct json_member item = {0};
	const char *joint = "[";

	while (json_item(list.at, list.size, &item)) {
		buf_text(buf, joint);
		put_without_bytes(buf, &item);
		joint = ",";
	}
	buf_text(buf, joint[0] == '[' ? "[]" : "]");
	return buf->failed;
}

static void put_structured(struct buf *out, const struct result *result)
{
	const char *joint = "{";

	for (size_t i = 0; i < RESULT_COUNT; i++) {
		struct span value = result->members[i];

		if (value.size == 0)
			continue;
		buf_text(out, joint);
		json_put_text(out, result_rows[i].name);
		buf_text(out, ":");
		if ((i == RESULT_CHARTS || i == RESULT_FILES) && value.at[0] == '[')
			mcp_put_charts(out, value);
		else
			buf_append(out, value.at, value.size);
		if (i == RESULT_SESSION && value.at[0] == '"') {
			buf_text(out, ",\"session_id\":");
			buf_append(out, value.at, value.size);
		}
		joint = ",";
	}
	buf_text(out, joint[0] == '{' ? "{}" : "}");
}

/* ---- the text that a model or a person reads ---- */

/* One part of the text that is shown. */
struct part {
	enum result_member member;
	const char *name; /* a member of that member; NULL: the member itself */
	const char *label;
};

/* A string member, or a string inside an object member: the text between its quotes, which stays
 * escaped. Size 0: there is none, or it is empty. */
static struct span text_of(const struct result *result, enum result_member member, const char *name)
{
	struct span value = result->members[member];

	if (name != NULL)
		value = span_member(value, name);
	if (value.size < 3 || value.at[0] != '"')
		return (struct span){0};
	return (struct span){value.at + 1, value.size - 2};
}

/* Appends a line of our own, escaped for JSON. */
static void show_line(struct buf *out, const char *label, const char *text)
{
	AUTO_BUF struct buf quoted = {.max = 8UL * VERDICT_TEXT_MAX};

	if (text[0] != '\0' && json_put_text(&quoted, text) == 0) {
		buf_text(out, label);
		buf_append(out, (const char *)quoted.data + 1, quoted.size - 2);
		buf_text(out, "\\n");
	}
}

/* Appends the remedy, worded for MCP. */
static void show_remedy(struct buf *out, const struct verdict *verdict)
{
	char text[VERDICT_TEXT_MAX];

	verdict_remedy(verdict, REMEDY_MCP, text, sizeof(text));
	show_line(out, "remedy: ", text);
}

/* Appends what was cut from the parts above; returns whether anything was. */
static bool show_cuts(struct buf *out, const struct result *result)
{
	char text[CUT_TEXT_MAX];
	size_t i = 0;

	while (truncated_say(&result->truncated, &result->allowed, &result->usage, i, text,
			     sizeof(text))) {
		show_line(out, "cut: ", text);
		i++;
	}
	return i > 0;
}

/* Appends why the run left no checkpoint; returns whether it left none. */
static bool show_skipped(struct buf *out, const struct result *result)
{
	char text[SKIPPED_TEXT_MAX];

	if (!skipped_say(result->members[RESULT_CHECKPOINT], text, sizeof(text)))
		return false;
	show_line(out, "note: ", text);
	return true;
}

/* Appends parts, each on lines of its own; true: at least one was not empty. */
static bool show(struct buf *out, const struct result *result, const struct part *parts, size_t n)
{
	bool is_shown = false;

	for (size_t i = 0; i < n; i++) {
		struct span text = text_of(result, parts[i].member, parts[i].name);
		bool has_end = text.size >= 2 && memcmp(text.at + text.size - 2, "\\n", 2) == 0;

		if (text.size == 0)
			continue;
		buf_text(out, parts[i].label);
		buf_append(out, text.at, text.size);
		buf_text(out, has_end ? "" : "\\n");
		is_shown = true;
	}
	return is_shown;
}

/* Appends the result as a person would see it: the output, the traceback or the value, and for a
 * failure the verdict and what to do about it. */
static void put_shown(struct buf *out, const struct result *result)
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

	buf_text(out, "{\"type\":\"text\",\"text\":\"");
	is_shown = show(out, result, parts, ARRAY_LEN(parts));
	is_shown |= show_skipped(out, result);
	is_shown |= show_cuts(out, result);
	if (result->verdict.kind != VERDICT_OK) {
		is_shown |= show(out, result, failure, ARRAY_LEN(failure));
		show_remedy(out, &result->verdict);
		if (left.size != 4 || memcmp(left.at, "none", 4) != 0)
			is_shown |= show(out, result, &state, 1);
	}
	buf_text(out, is_shown ? "\"}" : "(no output)\"}");
}

int mcp_put_images(struct buf *buf, struct span charts)
{
	struct json_member item = {0};

	while (json_item(charts.at, charts.size, &item)) {
		struct span chart = {item.value, item.size};
		struct span data = span_member(chart, "base64");
		struct span mime = span_member(chart, "mime");

		if (data.size == 0 || data.at[0] != '"' || mime.size < 7 ||
		    memcmp(mime.at, "\"image/", 7) != 0)
			continue;
		buf_text(buf, ",{\"type\":\"image\",\"data\":");
		buf_append(buf, data.at, data.size);
		buf_text(buf, ",\"mimeType\":");
		buf_append(buf, mime.at, mime.size);
		buf_text(buf, "}");
	}
	return buf->failed;
}

/* Unreserved characters and slashes stay as they are (RFC 3986); all others are escaped. */
static void put_uri(struct buf *out, const char *id, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";
	char escaped[4];

	buf_text(out, "\"sandbox://");
	buf_text(out, id);
	buf_text(out, "/");
	for (; *path != '\0'; path++) {
		if (strchr(plain, *path) != NULL) {
			buf_append(out, path, 1);
			continue;
		}
		(void)snprintf(escaped, sizeof(escaped), "%%%02X", (unsigned char)*path);
		buf_text(out, escaped);
	}
	buf_text(out, "\"");
}

static void put_link(struct buf *out, const char *id, struct span file)
{
	static const char *const members[][2] = {{"mime", "mimeType"}, {"size", "size"}};
	char path[4096];
	const char *name;

	span_text(span_member(file, "path"), path, sizeof(path));
	if (strncmp(path, WORKSPACE, strlen(WORKSPACE)) != 0)
		return;
	name = strrchr(path, '/') + 1;
	buf_text(out, ",{\"type\":\"resource_link\",\"uri\":");
	put_uri(out, id, path + strlen(WORKSPACE));
	buf_text(out, ",\"name\":");
	json_put_text(out, name);
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct span value = span_member(file, members[i][0]);

		if (value.size == 0 || value.at[0] == 'n')
			continue;
		buf_format(out, ",\"%s\":", members[i][1]);
		buf_append(out, value.at, value.size);
	}
	buf_text(out, "}");
}

/* Links to files: of a session, or of a run without one, whose files are in its log. */
static void put_links(struct buf *out, const struct result *result)
{
	struct span session = text_of(result, RESULT_SESSION, NULL);
	struct span owner = session.size > 0 ? session : text_of(result, RESULT_ID, NULL);
	struct span files = result->members[RESULT_FILES];
	struct json_member item = {0};
	char id[ID_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)owner.size, owner.size > 0 ? owner.at : "");
	for (int i = 0; i < LINKS_MAX && json_item(files.at, files.size, &item); i++)
		put_link(out, id, (struct span){item.value, item.size});
}

void mcp_answer_run(struct mcp_call *call, const struct result *result)
{
	AUTO_BUF struct buf structured = {.max = MCP_ANSWER_MAX};
	AUTO_BUF struct buf out = {.max = MCP_ANSWER_MAX};

	put_structured(&structured, result);
	buf_text(&out, "\"content\":[");
	put_shown(&out, result);
	/* The same as text, for clients that do not know structuredContent. */
	buf_text(&out, ",{\"type\":\"text\",\"annotations\":{\"priority\":0.1},\"text\":");
	json_put_string(&out, structured.data, structured.size);
	buf_text(&out, "}");
	mcp_put_images(&out, result->members[RESULT_CHARTS]);
	put_links(&out, result);
	buf_text(&out, "],\"structuredContent\":");
	buf_append(&out, structured.data, structured.size);
	buf_text(&out, result->verdict.kind != VERDICT_OK ? ",\"isError\":true" : "");
	if (structured.failed == 0 && out.failed == 0) {
		mcp_answer_members(call, &out);
	} else {
		mcp_answer_refusal(call, MCP_INTERNAL, "the result is too large for an answer");
	}
}
