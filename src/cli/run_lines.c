// SPDX-License-Identifier: Apache-2.0
#include "cli/run_lines.h"

#include <errno.h>
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
	for (size_t i = 0; i < RESULT_COUNT; i++)
		buf_init(&lines->parts[i], TEXT_MAX);
	lines->facts.parts = lines->parts;
	lines->facts.missing = &lines->parts[RESULT_MISSING];
	lines->facts.left_out = &lines->parts[RESULT_LEFT_OUT];
}

void run_lines_done(struct run_lines *lines)
{
	for (size_t i = 0; i < RESULT_COUNT; i++)
		buf_done(&lines->parts[i]);
}

/* ---- the bytes of files ---- */

/* Returns the offset after the string that starts at `at`. */
static size_t skip_string(const char *json, size_t size, size_t at)
{
	for (at++; at < size && json[at] != '"'; at++) {
		if (json[at] == '\\')
			at++;
	}
	return at + 1;
}

/* Copies valid JSON without members called base64 that are not the first of their object. */
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
	struct result result;
	struct span files;
	size_t before;

	result_read(json, size, &result);
	files = result.members[RESULT_FILES];
	before = files.size > 0 ? (size_t)(files.at - json) : size;
	buf_append(buf, json, before);
	put_without_bytes(buf, files.at, files.size);
	buf_append(buf, json + before + files.size, size - before - files.size);
	return buf->failed;
}

/* Decodes a JSON string of base64. */
static int decode_bytes(struct buf *bytes, struct span value)
{
	return value.size < 2 || value.at[0] != '"'
		       ? -EINVAL
		       : buf_unbase64(bytes, value.at + 1, value.size - 2, "");
}

static void give_file(struct run_lines *lines, struct span file)
{
	struct span text = span_member(file, "base64");
	struct span name = span_member(file, "path");
	struct buf path;
	struct buf bytes;

	lines->show->is_daemon = true;
	if (lines->show->out.dir < 0 || text.size == 0 || text.at[0] != '"' || name.size == 0)
		return;
	buf_init(&path, name.size + 1);
	buf_init(&bytes, text.size + 1);
	if (testimony_decode(&path, name.at, name.size) == 0 && decode_bytes(&bytes, text) == 0)
		show_calls.file(lines->show, buf_string(&path), bytes.data, bytes.size, true);
	buf_done(&path);
	buf_done(&bytes);
}

/* ---- the verdict ---- */

/* Keeps the items of a list without its brackets, as local runs do. */
static void take_list(struct run_lines *lines, const struct result *end, enum result_member member)
{
	struct span list = end->members[member];

	if (list.size > 2)
		(void)buf_append(&lines->parts[member], list.at + 1, list.size - 2);
}

static void take_verdict(struct run_lines *lines, const struct result *end)
{
	struct run_facts *facts = &lines->facts;
	struct span state = end->members[RESULT_STATE];
	struct span note = span_member(end->members[RESULT_CHECKPOINT], "note");

	facts->verdict = end->verdict;
	if (facts->verdict.kind == VERDICT_NONE)
		facts->verdict.kind = VERDICT_BACKEND;
	facts->truncated = end->truncated;
	facts->usage = end->usage;
	facts->allowed = end->allowed;
	take_list(lines, end, RESULT_MISSING);
	take_list(lines, end, RESULT_LEFT_OUT);
	if (state.size > 0)
		testimony_text(state.at, state.size, lines->state, sizeof(lines->state));
	if (note.size > 0)
		testimony_text(note.at, note.size, lines->note, sizeof(lines->note));
	(void)skipped_say(end->members[RESULT_CHECKPOINT], lines->skipped, sizeof(lines->skipped));
	lines->has_verdict = true;
}

void run_lines_tell_state(const struct run_lines *lines)
{
	const char *key = lines->facts.verdict.remedy_key;
	bool is_gone = key != NULL && strcmp(key, "gone") == 0;

	if (lines->note[0] != '\0')
		show_note(lines->show, "%s", lines->note);
	else if (strcmp(lines->state, "lost") == 0 && !is_gone)
		show_note(lines->show,
			  "lost: the session has no state to go on from; remove it with "
			  "`viv session rm`");
	if (lines->skipped[0] != '\0')
		show_note(lines->show, "%s", lines->skipped);
}

/* ---- lines ---- */

/* Output that is not UTF-8 comes twice: as text with replacement characters, and as base64. */
static void take_output(struct run_lines *lines, int stream, struct span text, struct span base64)
{
	struct buf bytes;

	buf_init(&bytes, text.size + base64.size + 1);
	if (base64.size > 0)
		(void)decode_bytes(&bytes, base64);
	else if (text.size > 0)
		(void)testimony_decode(&bytes, text.at, text.size);
	if (bytes.size > 0)
		show_calls.output(lines->show, stream, bytes.data, bytes.size);
	buf_done(&bytes);
}

static void take_fact(struct run_lines *lines, enum result_member member, struct span value)
{
	if (member == RESULT_RESULT || member == RESULT_ERROR) {
		buf_cut(&lines->parts[member], 0);
		(void)buf_append(&lines->parts[member], value.at, value.size);
		return;
	}
	if (member == RESULT_FILES)
		give_file(lines, value);
	show_calls.fact(lines->show, result_rows[member].event, value.at, value.size);
}

/* Keeps the run's id; in every mode, tells that a held run waits for a person. */
static void take_run(struct run_lines *lines, const struct event *event)
{
	if (event->run.size == 0)
		return;
	testimony_text(event->run.at, event->run.size, lines->run, sizeof(lines->run));
	lines->is_held = event_is(event, "held");
	if (lines->is_held)
		show_note(lines->show,
			  "held: a person must allow it first: `viv allow %s`, or on the page",
			  lines->run);
}

static void pass_on(struct run_lines *lines, const char *type, const char *line, size_t size)
{
	struct buf text;

	/* A keepalive is for the connection, not for whoever reads stdout. */
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
	const struct span *told;
	struct event event;

	if (!json_is_valid(line, size))
		return 0;
	event_read(line, size, &event);
	if (event.type[0] == '\0')
		return 0;
	told = event.told.members;
	if (event.seq.size > 0)
		lines->seq = strtoull(event.seq.at, NULL, 10);
	if (lines->show->mode == SHOW_EVENTS)
		pass_on(lines, event.type, line, size);

	if (event_is(&event, "started") || event_is(&event, "held"))
		take_run(lines, &event);
	else if (event_is(&event, "stdout"))
		take_output(lines, STDOUT_FILENO, told[RESULT_STDOUT], event.base64);
	else if (event_is(&event, "stderr"))
		take_output(lines, STDERR_FILENO, told[RESULT_STDERR], event.base64);
	else if (event_is(&event, "verdict"))
		take_verdict(lines, &event.told);
	for (unsigned i = 0; i < RESULT_COUNT; i++) {
		if (told[i].size > 0 && result_rows[i].is_fact &&
		    event_is(&event, result_rows[i].event))
			take_fact(lines, (enum result_member)i, told[i]);
	}
	return 0;
}
