// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/agentrail/agentrail.h"

#define VALUE_MAX (1U << 20) /* largest value of a tool that is parsed */
#define CUT "\\n[output truncated]"

/* A JSON text made of parts with newlines between them. */
struct text {
	struct buf *buf;
	bool has_part;
};

static void add(struct text *text, struct escaped part)
{
	buf_append(text->buf, part.text, part.size);
}

static void add_part(struct text *text, struct escaped part)
{
	if (text->has_part)
		add(text, escaped_plain("\\n"));
	text->has_part = true;
	add(text, part);
}

/* Appends "name":"<string>", with a comma in front unless it is the first member. */
static int put_member(struct buf *buf, const char *name, struct escaped string, bool is_cut)
{
	const struct escaped parts[] = {string, is_cut ? escaped_plain(CUT) : (struct escaped){0}};

	buf_format(buf, "%s\"%s\":", buf->size > 0 ? "," : "", name);
	return escaped_put(buf, parts, ARRAY_LEN(parts), SIZE_MAX);
}

/* ---- Python ---- */

/* New files in the artifacts folder, then the expected files; each once. */
static json_t *output_files(const json_t *value, const struct agentrail_args *args)
{
	const char *const *expected = args->expected_output_files;
	json_t *seen = json_object();
	json_t *files = json_array();
	size_t i;
	json_t *item;

	json_array_foreach(json_object_get(value, "outputFiles"), i, item) {
		const char *path = json_string_value(item);

		if (path != NULL && json_object_get(seen, path) == NULL) {
			(void)json_object_set_new(seen, path, json_true());
			(void)json_array_append(files, item);
		}
	}
	for (; expected != NULL && *expected != NULL; expected++) {
		if (json_object_get(seen, *expected) == NULL) {
			(void)json_object_set_new(seen, *expected, json_true());
			(void)json_array_append_new(files, json_string(*expected));
		}
	}
	json_decref(seen);
	return files;
}

static void add_files(struct text *text, const json_t *files)
{
	size_t i;
	json_t *item;

	if (json_array_size(files) > 0)
		add_part(text, escaped_plain("Generated files:"));
	json_array_foreach(files, i, item) {
		AUTO_BUF struct buf quoted = {.max = 64 * KIB};

		if (json_put_text(&quoted, json_string_value(item)) == 0) {
			add(text, escaped_plain("\\n- "));
			add(text, (struct escaped){(const char *)quoted.data + 1, quoted.size - 2});
		}
	}
}

/* Appends the output and the exit code of a process: the same for a script and a command. */
static void add_output(struct text *text, struct escaped out, bool is_out_cut, struct escaped err,
		       bool is_err_cut, int exit_code)
{
	char code[40];

	if (out.size > 0)
		add_part(text, out);
	if (is_out_cut)
		add(text, escaped_plain(CUT));
	if (err.size > 0) {
		add_part(text, escaped_plain("[stderr]\\n"));
		add(text, err);
	}
	if (is_err_cut)
		add(text, escaped_plain(CUT));
	if (out.size == 0 && err.size == 0)
		add_part(text, escaped_plain("(no output)"));
	(void)snprintf(code, sizeof(code), "\\n[exit code: %d]", exit_code);
	add_part(text, escaped_plain(code));
}

/* The exit code that our code in the sandbox reports, or else the supervisor's. */
static int exit_of(const struct ending *ending, const json_t *value, const char *name)
{
	const json_t *code = json_object_get(value, name);

	if (json_is_integer(code))
		return (int)json_integer_value(code);
	if (ending_is(ending, "timeout"))
		return 137; /* SIGKILL */
	return ending->exit_code;
}

/* stderr and, if the run was ended from outside, the reason. `room` holds the text. */
static struct escaped stderr_of(const struct ending *ending, const json_t *value, struct buf *room)
{
	if (value != NULL)
		return ending->err;
	(void)buf_append(room, ending->err.text, ending->err.size);
	if (ending->err.size > 0)
		(void)buf_text(room, "\\n");
	(void)buf_append(room, ending->message.text, ending->message.size);
	return (struct escaped){(const char *)room->data, room->size};
}

static int put_python(const struct agentrail_args *args, const char *script,
		      const struct ending *ending, const json_t *value, struct buf *text_buf,
		      struct buf *details)
{
	json_auto_t *files = output_files(value, args);
	bool is_late = json_is_true(json_object_get(value, "timedOut")) ||
		       (value == NULL && ending_is(ending, "timeout"));
	int code = exit_of(ending, value, "exitCode");
	struct text text = {.buf = text_buf};
	struct escaped err;
	AUTO_BUF struct buf room = {.max = AGENTRAIL_ANSWER_MAX};
	AUTO_FREE char *listed = json_dumps(files, JSON_COMPACT | JSON_ENSURE_ASCII);

	err = stderr_of(ending, value, &room);
	buf_text(text_buf, "\"");
	add_output(&text, escaped_trim(ending->out), ending->is_out_cut, escaped_trim(err),
		   ending->is_err_cut, code);
	if (is_late)
		add_part(&text, escaped_plain("[timed out]"));
	add_files(&text, files);
	add(&text, escaped_plain("\""));

	buf_format(details, "\"exitCode\":%d", code);
	put_member(details, "stdout", ending->out, ending->is_out_cut);
	put_member(details, "stderr", err, ending->is_err_cut);
	buf_format(details, ",\"timedOut\":%s,\"scriptPath\":\"%s\",\"outputFiles\":%s",
		   is_late ? "true" : "false", script, listed != NULL ? listed : "[]");
	return details->failed < 0 ? details->failed : text_buf->failed;
}

/* ---- Bash ---- */

static int put_bash(const struct ending *ending, const json_t *value, struct buf *text_buf,
		    struct buf *details)
{
	const char *mode = json_string_value(json_object_get(value, "mode"));
	bool is_behind = mode != NULL && strcmp(mode, "background") == 0;
	int code = exit_of(ending, value, "exit_code");
	struct text text = {.buf = text_buf};
	struct escaped err;
	AUTO_BUF struct buf room = {.max = AGENTRAIL_ANSWER_MAX};

	err = stderr_of(ending, value, &room);
	buf_text(text_buf, "\"");
	if (is_behind) {
		add_part(&text,
			 escaped_plain("Process moved to background (still running in sandbox)"));
		if (ending->out.size > 0)
			add_part(&text, ending->out);
		if (err.size > 0) {
			add_part(&text, escaped_plain("[stderr]\\n"));
			add(&text, err);
		}
	} else {
		add_output(&text, ending->out, ending->is_out_cut, err, ending->is_err_cut, code);
	}
	add(&text, escaped_plain("\""));

	buf_format(details, "\"mode\":\"%s\"", is_behind ? "background" : "foreground");
	if (!is_behind)
		buf_format(details, ",\"exit_code\":%d", code);
	put_member(details, "stdout", ending->out, ending->is_out_cut);
	put_member(details, "stderr", err, ending->is_err_cut);
	return details->failed < 0 ? details->failed : text_buf->failed;
}

/* ---- the others ---- */

static int put_refusal(struct escaped why, struct buf *text, struct buf *details)
{
	int r = escaped_put(text, &why, 1, SIZE_MAX);

	return r < 0 ? r : put_member(details, "error", why, false);
}

/* The other tools give their whole answer themselves. */
static int put_said(const struct ending *ending, struct buf *text, struct buf *details)
{
	struct span said = span_member(ending->value, "text");
	struct span more = span_member(ending->value, "details");
	int r;

	if (said.size < 2 || said.at[0] != '"' || more.size < 2 || more.at[0] != '{')
		return -EBADMSG;
	r = buf_append(text, said.at, said.size);
	return r < 0 ? r : buf_append(details, more.at + 1, more.size - 2);
}

int agentrail_put(const struct agentrail_tool *tool, const struct agentrail_args *args,
		  const char *script, const struct ending *ending, struct buf *text,
		  struct buf *details, bool *ret_is_refused)
{
	bool is_python = strcmp(tool->name, "Python") == 0;
	bool is_process = is_python || strcmp(tool->name, "Bash") == 0;
	struct escaped refusal = escaped_member(ending->value, "refused");
	json_auto_t *value = NULL;

	*ret_is_refused = refusal.size > 0 || (!is_process && ending->value.size == 0);
	if (refusal.size > 0)
		return put_refusal(refusal, text, details);
	if (!is_process && ending->value.size == 0)
		return put_refusal(ending->message, text, details);
	if (!is_process)
		return put_said(ending, text, details);
	if (ending->value.size > 0 && ending->value.size <= VALUE_MAX)
		value = json_loadb(ending->value.at, ending->value.size, 0, NULL);
	if (ending_is(ending, "ok") && !json_is_object(value))
		return -EBADMSG;
	return is_python ? put_python(args, script, ending, value, text, details)
			 : put_bash(ending, value, text, details);
}
