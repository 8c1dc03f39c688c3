// SPDX-License-Identifier: Apache-2.0
#include "dialect/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "dialect/escaped.h"

/* The policy has limited the bytes of a stream; escaped, each takes up to six. */
#define STREAM_MAX (1ULL << 30)
#define TEXT_MAX (16U << 20)
#define NUMBER_SIZE 32

void script_init(struct script *script)
{
	*script = (struct script){0};
	buf_init(&script->out, STREAM_MAX);
	buf_init(&script->err, STREAM_MAX);
	buf_init(&script->both, STREAM_MAX);
	buf_init(&script->message, TEXT_MAX);
	buf_init(&script->files, TEXT_MAX);
}

void script_done(struct script *script)
{
	buf_done(&script->out);
	buf_done(&script->err);
	buf_done(&script->both);
	buf_done(&script->message);
	buf_done(&script->files);
}

static void add(struct script *script, struct buf *stream, struct escaped text, bool *is_cut)
{
	if (buf_append(stream, text.text, text.size) < 0 ||
	    buf_append(&script->both, text.text, text.size) < 0)
		*is_cut = true;
}

/* A number of an object; 0 when it is null, absent or no number. */
static double number_of(const char *object, size_t size, const char *name)
{
	char text[NUMBER_SIZE];
	const char *value = NULL;
	size_t value_size = 0;

	if (!json_find(object, size, name, &value, &value_size) || value_size >= sizeof(text))
		return 0;
	(void)snprintf(text, sizeof(text), "%.*s", (int)value_size, value);
	return strtod(text, NULL);
}

static bool is_true(const char *object, size_t size, const char *name)
{
	const char *value = NULL;
	size_t value_size = 0;

	return json_find(object, size, name, &value, &value_size) && value[0] == 't';
}

static void take_verdict(struct script *script, const char *verdict, size_t size)
{
	struct escaped kind = escaped_member(verdict, size, "kind");
	struct escaped message = escaped_member(verdict, size, "message");
	struct escaped remedy = escaped_member(verdict, size, "remedy");

	(void)snprintf(script->kind, sizeof(script->kind), "%.*s", (int)kind.size, kind.text);
	script->exit_code = (int64_t)number_of(verdict, size, "exit_code");
	script->signal = (int64_t)number_of(verdict, size, "signal");
	(void)buf_append(&script->message, message.text, message.size);
	if (remedy.size > 0 && buf_text(&script->message, "; ") == 0)
		(void)buf_append(&script->message, remedy.text, remedy.size);
}

static void take_end(struct script *script, const char *line, size_t size)
{
	const char *part = NULL;
	size_t n = 0;

	if (json_find(line, size, "verdict", &part, &n))
		take_verdict(script, part, n);
	if (json_find(line, size, "usage", &part, &n)) {
		script->wall_ms = (uint64_t)number_of(part, n, "wall_ms");
		script->cpu_ms = (uint64_t)number_of(part, n, "cpu_ms");
		script->memory = (uint64_t)number_of(part, n, "peak_memory");
	}
	if (json_find(line, size, "truncated", &part, &n)) {
		script->is_out_cut |= is_true(part, n, "stdout");
		script->is_err_cut |= is_true(part, n, "stderr");
	}
	if (json_find(line, size, "files", &part, &n))
		(void)buf_append(&script->files, part, n);
}

void script_take(struct script *script, const char *line, size_t size)
{
	struct escaped type = escaped_member(line, size, "type");
	const char *error = NULL;
	size_t n = 0;

	if (escaped_is(type, "stdout"))
		add(script, &script->out, escaped_member(line, size, "text"), &script->is_out_cut);
	else if (escaped_is(type, "stderr"))
		add(script, &script->err, escaped_member(line, size, "text"), &script->is_err_cut);
	else if (escaped_is(type, "error") && json_find(line, size, "error", &error, &n))
		add(script, &script->err, escaped_member(error, n, "traceback"),
		    &script->is_err_cut);
	else if (escaped_is(type, "verdict"))
		take_end(script, line, size);
}

bool script_is(const struct script *script, const char *kind)
{
	return strcmp(script->kind, kind) == 0;
}

bool script_is_stopped(const struct script *script)
{
	static const char *const kinds[] = {"timeout", "memory",      "output",
					    "killed",  "interrupted", "cancelled"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (script_is(script, kinds[i]))
			return true;
	}
	return false;
}
