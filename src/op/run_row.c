// SPDX-License-Identifier: Apache-2.0
#include "op/run_row.h"

#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/utf8.h"
#include "op/op_run.h"

static void put_span(struct object *object, const char *name, struct span value)
{
	if (value.size > 0)
		object_json(object, name, value.at, value.size);
	else
		object_null(object, name);
}

static void put_verdict(struct object *object, struct log *log)
{
	static const char *const from_usage[] = {"wall_ms", "cpu_ms", "peak_memory"};
	struct log_reader reader = {0};
	struct event end = {0};
	struct span usage;
	const char *line = NULL;
	size_t size = 0;

	if (log_is_over(log)) {
		log_reader_open(&reader, log, log_seq(log) - 1, NULL, NULL);
		if (log_reader_next(&reader, &line, &size) > 0)
			event_read(line, size, &end);
		log_reader_close(&reader);
	}
	object_text(object, "verdict",
		    end.told.verdict.kind != VERDICT_NONE ? verdict_name(end.told.verdict.kind)
							  : NULL);
	usage = end.told.members[RESULT_USAGE];
	for (size_t i = 0; usage.size > 0 && i < ARRAY_LEN(from_usage); i++)
		put_span(object, from_usage[i], span_member(usage, from_usage[i]));
}

static const char *state_of(const struct engine *engine, const struct log *log)
{
	const struct served_run *served = NULL;

	if (log_is_over(log))
		return "over";
	served = served_find(engine, log_id(log));
	if (served != NULL && served->is_held)
		return "held";
	if (served == NULL || served->run == NULL)
		return "waiting";
	return run_has_begun(served->run) ? "running" : "waiting";
}

/* A log of an earlier version has no `who`, only parts of it. */
static void put_who(struct object *object, const struct log_head *head)
{
	if (head->who.size > 0) {
		put_span(object, "who", head->who);
		return;
	}
	object_open(object, "who", '{');
	put_span(object, "token", head->token);
	put_span(object, "peer", head->peer);
	object_close(object, '}');
}

void run_row_members(struct object *object, const struct engine *engine, struct log *log)
{
	struct log_head head;

	object_text(object, "id", log_id(log));
	(void)log_head(log, &head);
	put_span(object, "session", head.session);
	put_span(object, "op", head.op);
	put_span(object, "policy", head.policy);
	put_span(object, "runtime", head.runtime);
	put_span(object, "line", head.line);
	put_span(object, "code_size", head.code_size);
	put_who(object, &head);
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

struct line {
	const char *text; /* borrowed from the code, without leading blanks */
	size_t size;
};

/* Takes the line at *at, and moves *at past it. */
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

/* Is this line blank, a comment, or an import and nothing else? Much code begins with these. */
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

/* How an import continues after this line: ')' if a bracket is open, '\\' if the line ends with a
 * backslash, else 0. An import has no string literals, so # starts a comment. */
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
	if (named.size > RUN_ROW_LINE_MAX)
		named.size = utf8_cut(named.text, RUN_ROW_LINE_MAX);
	return json_put_string(buf, named.text, named.size);
}
