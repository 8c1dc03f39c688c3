// SPDX-License-Identifier: Apache-2.0
#include "cli/run_lines.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/json.h"
#include "session/testimony.h"

#define TEXT_MAX (96UL << 20)
#define BYTES_MEMBER ",\"base64\":"

void run_lines_init(struct run_lines *lines, struct show *show)
{
	*lines = (struct run_lines){.show = show};
	buf_init(&lines->result, TEXT_MAX);
	buf_init(&lines->error, TEXT_MAX);
	buf_init(&lines->missing, TEXT_MAX);
	lines->facts.result = &lines->result;
	lines->facts.error = &lines->error;
	lines->facts.missing = &lines->missing;
}

void run_lines_done(struct run_lines *lines)
{
	buf_done(&lines->result);
	buf_done(&lines->error);
	buf_done(&lines->missing);
}

/* ---- the bytes of files ---- */

/* Behind the string that starts at `at`. */
static size_t skip_string(const char *json, size_t size, size_t at)
{
	for (at++; at < size && json[at] != '"'; at++) {
		if (json[at] == '\\')
			at++;
	}
	return at + 1;
}

/* Copies valid JSON, but for members called base64 that have one before them. */
static int put_without_bytes(struct buf *buf, const char *json, size_t size)
{
	size_t name = strlen(BYTES_MEMBER);
	size_t from = 0;
	size_t at = 0;

	while (at < size) {
		int r = 0;

		if (json[at] == '"') {
			at = skip_string(json, size, at);
			continue;
		}
		if (size - at <= name || memcmp(json + at, BYTES_MEMBER, name) != 0) {
			at++;
			continue;
		}
		r = buf_append(buf, json + from, at - from);
		if (r < 0)
			return r;
		at += name;
		at = json[at] == '"' ? skip_string(json, size, at) : at + strlen("null");
		from = at;
	}
	return from < size ? buf_append(buf, json + from, size - from) : 0;
}

int run_lines_put_result(struct buf *buf, const char *json, size_t size)
{
	const char *files = NULL;
	size_t files_size = 0;
	size_t before;
	int r;

	if (!json_find(json, size, "files", &files, &files_size))
		return buf_append(buf, json, size);
	before = (size_t)(files - json);
	r = buf_append(buf, json, before);
	if (r == 0)
		r = put_without_bytes(buf, files, files_size);
	if (r == 0)
		r = buf_append(buf, files + files_size, size - before - files_size);
	return r;
}

/* A JSON string of base64. */
static int decode_bytes(struct buf *bytes, const char *value, size_t size)
{
	size_t decoded = 0;
	int r = buf_reserve(bytes, size);

	if (r < 0 || size < 2 || value[0] != '"')
		return -EINVAL;
	if (sodium_base642bin(bytes->data, size, value + 1, size - 2, NULL, &decoded, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0)
		return -EINVAL;
	bytes->size = decoded;
	return 0;
}

static void give_file(struct run_lines *lines, const char *file, size_t size)
{
	static const char too_large[] = "too large for the answer of a daemon; use --no-daemon";
	const char *text = NULL;
	size_t text_size = 0;
	struct buf path;
	struct buf bytes;

	if (lines->show->out.dir < 0 || !json_find(file, size, "base64", &text, &text_size))
		return;
	buf_init(&path, size + 1);
	buf_init(&bytes, text_size + 1);
	if (json_find(file, size, "path", &file, &size) &&
	    testimony_decode(&path, file, size) == 0) {
		if (text[0] != '"')
			show_note(lines->show, "not written: %s: %s", buf_string(&path), too_large);
		else if (decode_bytes(&bytes, text, text_size) == 0)
			show_calls.file(lines->show, buf_string(&path), bytes.data, bytes.size,
					true);
	}
	buf_done(&path);
	buf_done(&bytes);
}

/* ---- the verdict ---- */

static void take_verdict(struct run_lines *lines, const char *line, size_t size)
{
	struct run_facts *facts = &lines->facts;
	const char *note = NULL;
	size_t note_size = 0;
	struct span missing, state, checkpoint;
	struct result end;

	result_read(line, size, &end);
	missing = end.members[RESULT_MISSING];
	state = end.members[RESULT_STATE];
	checkpoint = end.members[RESULT_CHECKPOINT];
	facts->verdict = end.verdict;
	if (facts->verdict.kind == VERDICT_NONE)
		facts->verdict.kind = VERDICT_BACKEND;
	facts->truncated = end.truncated;
	/* As our own runs have it: what stands between the brackets. */
	if (missing.size > 2)
		(void)buf_append(&lines->missing, missing.at + 1, missing.size - 2);
	if (state.size > 0)
		testimony_text(state.at, state.size, lines->state, sizeof(lines->state));
	if (checkpoint.size > 0 && checkpoint.at[0] == '{' &&
	    json_find(checkpoint.at, checkpoint.size, "note", &note, &note_size))
		testimony_text(note, note_size, lines->note, sizeof(lines->note));
	lines->has_verdict = true;
}

/* ---- lines ---- */

/* Bytes that are not UTF-8 come twice: as text with marks in it, and as they are. */
static void take_output(struct run_lines *lines, int stream, const char *line, size_t size)
{
	const char *value = NULL;
	size_t value_size = 0;
	struct buf bytes;

	buf_init(&bytes, size + 1);
	if (json_find(line, size, "base64", &value, &value_size))
		(void)decode_bytes(&bytes, value, value_size);
	else if (json_find(line, size, "text", &value, &value_size))
		(void)testimony_decode(&bytes, value, value_size);
	if (bytes.size > 0)
		show_calls.output(lines->show, stream, bytes.data, bytes.size);
	buf_done(&bytes);
}

static void keep(struct buf *buf, const char *value, size_t size)
{
	buf_cut(buf, 0);
	(void)buf_append(buf, value, size);
}

static void take_fact(struct run_lines *lines, const char *type, const char *line, size_t size)
{
	const char *member = strcmp(type, "display") == 0 ? "data" : type;
	const char *value = NULL;
	size_t value_size = 0;

	if (!json_find(line, size, member, &value, &value_size))
		return;
	if (strcmp(type, "result") == 0)
		keep(&lines->result, value, value_size);
	else if (strcmp(type, "error") == 0)
		keep(&lines->error, value, value_size);
	else
		show_calls.fact(lines->show, type, value, value_size);
	if (strcmp(type, "file") == 0)
		give_file(lines, value, value_size);
}

/* Which run it is; and, in every mode, that it will not begin by itself. */
static void take_run(struct run_lines *lines, const char *type, const char *line, size_t size)
{
	const char *value = NULL;
	size_t value_size = 0;

	if (!json_find(line, size, "run", &value, &value_size))
		return;
	testimony_text(value, value_size, lines->run, sizeof(lines->run));
	lines->is_held = strcmp(type, "held") == 0;
	if (lines->is_held)
		show_note(lines->show,
			  "held: a person must allow it first: `viv allow %s`, or on the page",
			  lines->run);
}

static void pass_on(struct run_lines *lines, const char *type, const char *line, size_t size)
{
	struct buf text;

	/* A stream over a wire has these; there is no wire here. */
	if (strcmp(type, "keepalive") == 0)
		return;
	if (strcmp(type, "file") != 0 && strcmp(type, "verdict") != 0) {
		show_line(lines->show, line, size);
		return;
	}
	buf_init(&text, size + 1);
	if (put_without_bytes(&text, line, size) == 0)
		show_line(lines->show, (const char *)text.data, text.size);
	buf_done(&text);
}

int run_lines_take(struct run_lines *lines, const char *line, size_t size)
{
	const char *value = NULL;
	size_t value_size = 0;
	char type[32] = "";

	if (!json_is_valid(line, size) || !json_find(line, size, "type", &value, &value_size))
		return 0;
	testimony_text(value, value_size, type, sizeof(type));
	if (json_find(line, size, "seq", &value, &value_size))
		lines->seq = strtoull(value, NULL, 10);
	if (lines->show->mode == SHOW_EVENTS)
		pass_on(lines, type, line, size);

	if (strcmp(type, "started") == 0 || strcmp(type, "held") == 0)
		take_run(lines, type, line, size);
	else if (strcmp(type, "stdout") == 0)
		take_output(lines, STDOUT_FILENO, line, size);
	else if (strcmp(type, "stderr") == 0)
		take_output(lines, STDERR_FILENO, line, size);
	else if (strcmp(type, "verdict") == 0)
		take_verdict(lines, line, size);
	else
		take_fact(lines, type, line, size);
	return 0;
}
