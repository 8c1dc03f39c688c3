// SPDX-License-Identifier: Apache-2.0
#include "door/script.h"

#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/ending.h"

/* The policy has limited the bytes of a stream; escaped, each takes up to six. */
#define STREAM_MAX (1ULL << 30)
#define TEXT_MAX (16U << 20)

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

static void take_end(struct script *script, const char *line, size_t size)
{
	struct ending ending;

	(void)ending_read(line, size, &ending);
	(void)snprintf(script->kind, sizeof(script->kind), "%s", ending_kind(&ending));
	script->exit_code = ending.exit_code;
	script->signal = ending.signal;
	(void)buf_append(&script->message, ending.message.text, ending.message.size);
	if (ending.remedy.size > 0 && buf_text(&script->message, "; ") == 0)
		(void)buf_append(&script->message, ending.remedy.text, ending.remedy.size);
	script->wall_ms = (uint64_t)ending.usage.wall_ms;
	script->cpu_ms = (uint64_t)ending.usage.cpu_ms;
	script->memory = ending.usage.peak_memory;
	script->is_out_cut |= ending.is_out_cut;
	script->is_err_cut |= ending.is_err_cut;
	(void)buf_append(&script->files, ending.files.at, ending.files.size);
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
