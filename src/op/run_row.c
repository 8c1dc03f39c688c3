// SPDX-License-Identifier: Apache-2.0
#include "op/run_row.h"

#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "op/flight.h"

/* Copies members of a JSON object that we wrote ourselves, as they are. */
static void copy_members(struct object *object, const char *json, size_t size,
			 const char *const *names)
{
	for (; *names != NULL; names++) {
		const char *value = NULL;
		size_t value_size = 0;

		if (json_find(json, size, *names, &value, &value_size))
			object_json(object, *names, value, value_size);
		else
			object_null(object, *names);
	}
}

static void put_verdict(struct object *object, struct log *log)
{
	static const char *const from_usage[] = {"wall_ms", "cpu_ms", "peak_memory", NULL};
	struct log_reader reader = {0};
	struct result end = {0};
	const char *line = NULL;
	size_t size = 0;

	if (log_is_over(log)) {
		log_reader_open(&reader, log, log_seq(log) - 1, NULL, NULL);
		if (log_reader_next(&reader, &line, &size) > 0)
			result_read(line, size, &end);
		log_reader_close(&reader);
	}
	object_text(object, "verdict",
		    end.verdict.kind != VERDICT_NONE ? verdict_name(end.verdict.kind) : NULL);
	if (end.members[RESULT_USAGE].size > 0)
		copy_members(object, end.members[RESULT_USAGE].at, end.members[RESULT_USAGE].size,
			     from_usage);
}

static const char *state_of(const struct engine *engine, const struct log *log)
{
	const struct flight *flight = NULL;

	if (log_is_over(log))
		return "over";
	flight = flight_find(engine, log_id(log));
	if (flight != NULL && flight->is_held)
		return "held";
	if (flight == NULL || flight->run == NULL)
		return "waiting";
	return run_has_begun(flight->run) ? "running" : "waiting";
}

/* A log of an earlier version has no `who`: what it has of it. */
static void put_who(struct object *object, const char *head, size_t size)
{
	static const char *const from_head[] = {"token", "peer", NULL};
	const char *value = NULL;
	size_t value_size = 0;

	if (json_find(head, size, "who", &value, &value_size)) {
		object_json(object, "who", value, value_size);
		return;
	}
	object_open(object, "who", '{');
	copy_members(object, head, size, from_head);
	object_close(object, '}');
}

void run_row_members(struct object *object, const struct engine *engine, struct log *log)
{
	static const char *const from_head[] = {"session", "op",        "policy", "runtime",
						"line",    "code_size", NULL};
	const char *head = "{}";
	size_t size = 2;

	object_text(object, "id", log_id(log));
	(void)log_head(log, &head, &size);
	copy_members(object, head, size, from_head);
	put_who(object, head, size);
	object_text(object, "state", state_of(engine, log));
	object_number(object, "begun_ms", log_begun_ms(log));
	object_number(object, "events", log_seq(log));
	put_verdict(object, log);
}

void run_row_put(struct object *object, const char *name, const struct engine *engine,
		 struct log *log)
{
	object_open(object, name, '{');
	run_row_members(object, engine, log);
	object_close(object, '}');
}

static int put_member(struct buf *buf, const char *before, const char *text)
{
	int r = buf_text(buf, before);

	if (r < 0)
		return r;
	return text != NULL && text[0] != '\0' ? json_put_text(buf, text) : buf_text(buf, "null");
}

int run_row_put_who(struct buf *buf, const struct op_caller *caller)
{
	int r = put_member(buf, "{\"token\":", caller->name);

	if (r == 0)
		r = put_member(buf, ",\"via\":", caller->via != NULL ? caller->via : "http");
	if (r == 0)
		r = put_member(buf, ",\"client\":", caller->client);
	if (r == 0)
		r = put_member(buf, ",\"peer\":", caller->peer);
	return r == 0 ? buf_text(buf, "}") : r;
}

struct line {
	const char *text; /* borrowed from the code, blanks in front left out */
	size_t size;
};

/* The line at `at`, which is moved behind it. */
static struct line take_line(const char **at, const char *end)
{
	struct line line = {.text = *at};

	while (line.text < end && strchr(" \t\f", *line.text) != NULL && *line.text != '\0')
		line.text++;
	while (line.text + line.size < end && strchr("\r\n", line.text[line.size]) == NULL)
		line.size++;
	*at = line.text + line.size;
	if (*at < end)
		(*at)++;
	return line;
}

static bool has(const struct line *line, char c)
{
	return memchr(line->text, c, line->size) != NULL;
}

/* A comment, or an import and nothing else: what many pieces of code begin with. */
static bool is_prelude(const struct line *line)
{
	static const char *const words[] = {"import", "from"};

	if (line->size == 0 || line->text[0] == '#')
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t size = strlen(words[i]);

		if (line->size > size && memcmp(line->text, words[i], size) == 0 &&
		    strchr(" \t.", line->text[size]) != NULL)
			return !has(line, ';');
	}
	return false;
}

/* What the import of this line goes on for: a closing bracket, or a backslash's next line; else 0.
 * An import has no texts, so a # is a comment. */
static char goes_on(struct line line, char within)
{
	const char *comment = memchr(line.text, '#', line.size);

	if (comment != NULL)
		line.size = (size_t)(comment - line.text);
	if ((within == ')' || has(&line, '(')) && !has(&line, ')'))
		return ')';
	return line.size > 0 && line.text[line.size - 1] == '\\' ? '\\' : '\0';
}

int run_row_put_line(struct buf *buf, const void *code, size_t size)
{
	const char *at = code != NULL ? code : "";
	const char *end = at + (code != NULL ? size : 0);
	struct line named = {.text = ""};
	char within = '\0';

	while (at < end) {
		struct line line = take_line(&at, end);

		if (named.size == 0)
			named = line;
		if (within == '\0' && !is_prelude(&line)) {
			named = line;
			break;
		}
		within = goes_on(line, within);
	}
	if (named.size > RUN_ROW_LINE_MAX) {
		named.size = RUN_ROW_LINE_MAX;
		/* Not in the middle of a character. */
		while (named.size > 0 && ((unsigned char)named.text[named.size] & 0xc0) == 0x80)
			named.size--;
	}
	return json_put_string(buf, named.text, named.size);
}
