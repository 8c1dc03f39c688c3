// SPDX-License-Identifier: Apache-2.0
#include "door/script.h"

#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/ending.h"

/* The policy limits the bytes of a stream; escaped, each byte takes up to six. */
#define STREAM_MAX (1ULL << 30)
#define TEXT_MAX (16U << 20)
#define PATH_BYTES_MAX 1024U

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

/* Remedies for other systems' APIs: they name no field that only our API has. */
static void add_remedy(struct script *script, const struct verdict *verdict)
{
	char text[VERDICT_TEXT_MAX];
	struct buf quoted;

	verdict_remedy(verdict, REMEDY_DOOR, text, sizeof(text));
	if (text[0] == '\0')
		return;
	buf_init(&quoted, 8 * sizeof(text));
	if (json_put_text(&quoted, text) == 0 && buf_text(&script->message, "; ") == 0)
		(void)buf_append(&script->message, quoted.data + 1, quoted.size - 2);
	buf_done(&quoted);
}

static void take_end(struct script *script, const struct result *result)
{
	struct ending ending;

	(void)ending_read(result, &ending);
	(void)snprintf(script->kind, sizeof(script->kind), "%s", ending_kind(&ending));
	script->exit_code = ending.exit_code;
	script->signal = ending.signal;
	(void)buf_append(&script->message, ending.message.text, ending.message.size);
	add_remedy(script, &result->verdict);
	script->wall_ms = (uint64_t)ending.usage.wall_ms;
	script->cpu_ms = (uint64_t)ending.usage.cpu_ms;
	script->memory = ending.usage.peak_memory;
	script->is_out_cut |= ending.is_out_cut;
	script->is_err_cut |= ending.is_err_cut;
	(void)buf_append(&script->files, ending.files.at, ending.files.size);
}

void script_take(struct script *script, const char *line, size_t size)
{
	const struct span *told;
	struct event event;

	event_read(line, size, &event);
	told = event.told.members;
	add(script, &script->out, escaped_of(told[RESULT_STDOUT]), &script->is_out_cut);
	add(script, &script->err, escaped_of(told[RESULT_STDERR]), &script->is_err_cut);
	add(script, &script->err, escaped_member(told[RESULT_ERROR], "traceback"),
	    &script->is_err_cut);
	if (event_is(&event, "verdict"))
		take_end(script, &event.told);
}

bool script_is_path(const char *path)
{
	const char *rest = path;

	if (path[0] == '/' || path[0] == '\0' || strlen(path) > PATH_BYTES_MAX)
		return false;
	while (rest != NULL) {
		if (strncmp(rest, "..", 2) == 0 && (rest[2] == '/' || rest[2] == '\0'))
			return false;
		rest = strchr(rest, '/');
		rest = rest != NULL ? rest + 1 : NULL;
	}
	return path[strlen(path) - 1] != '/';
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
