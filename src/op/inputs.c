// SPDX-License-Identifier: Apache-2.0
#include "op/inputs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/json.h"
#include "session/testimony.h"

#define NAME_MAX_SHOWN 512U /* bytes of one name, as JSON text */
#define PREVIEW 4096U       /* bytes shown of a text that may be cut */

struct list {
	struct buf *buf;
	bool is_first;
	int r; /* the first failure; later steps do nothing */
};

/* Begins an item and leaves it open. `name` is JSON text, NULL: none; size < 0: unknown. */
static void begin(struct list *list, const char *kind, const char *name, size_t name_size,
		  int64_t size)
{
	struct buf *buf = list->buf;

	if (list->r == 0 && name_size > NAME_MAX_SHOWN)
		list->r = -EMSGSIZE;
	if (list->r == 0)
		list->r = buf_format(buf, "%s{\"kind\":\"%s\",\"name\":", list->is_first ? "" : ",",
				     kind);
	list->is_first = false;
	if (list->r == 0)
		list->r = name != NULL ? buf_append(buf, name, name_size) : buf_text(buf, "null");
	if (list->r == 0)
		list->r = size >= 0 ? buf_format(buf, ",\"size\":%lld", (long long)size)
				    : buf_text(buf, ",\"size\":null");
}

static void put(struct list *list, const char *kind, const char *name, size_t name_size,
		int64_t size)
{
	begin(list, kind, name, name_size, size);
	if (list->r == 0)
		list->r = buf_text(list->buf, "}");
}

/* Adds an item with the first `most` bytes of its text: what the code does also depends on its
 * inputs. */
static void put_shown(struct list *list, const char *kind, const char *name, size_t name_size,
		      const struct run_bytes *bytes, size_t most)
{
	size_t shown = bytes->size < most ? (size_t)bytes->size : most;
	AUTO_FREE char *copy = NULL;
	const char *from = bytes->data;
	struct buf text;

	buf_init(&text, 8UL * NAME_MAX_SHOWN);
	if (list->r == 0 && name != NULL)
		list->r = json_put_string(&text, name, name_size);
	begin(list, kind, name != NULL ? (const char *)text.data : NULL, text.size,
	      (int64_t)bytes->size);
	buf_done(&text);
	if (from == NULL && shown > 0) {
		from = copy = xcalloc(1, shown);
		if (pread(bytes->fd, copy, shown, (off_t)bytes->at) != (ssize_t)shown)
			list->r = -EIO;
	}
	if (list->r == 0)
		list->r = buf_text(list->buf, ",\"text\":");
	if (list->r == 0)
		list->r = json_put_string(list->buf, shown > 0 ? from : "", shown);
	if (list->r == 0)
		list->r = buf_text(list->buf, "}");
}

static void put_named(struct list *list, const char *kind, const char *name, size_t name_size,
		      int64_t size)
{
	struct buf text;

	buf_init(&text, 8UL * NAME_MAX_SHOWN);
	if (list->r == 0)
		list->r = json_put_string(&text, name, name_size);
	if (list->r == 0)
		put(list, kind, (const char *)text.data, text.size, size);
	buf_done(&text);
}

static void put_bytes(struct list *list, const char *kind, const struct run_bytes *bytes)
{
	if (bytes->size > 0)
		put(list, kind, NULL, 0, (int64_t)bytes->size);
}

/* ---- files: a list of {path, text | base64} that was checked to be JSON ---- */

/* The closing quote of the text that begins at `at`, in valid JSON. */
static const char *closing_quote(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at;
}

/* The end of the value that begins at `at`, in valid JSON. */
static const char *value_end(const char *at, const char *end)
{
	uint32_t depth = 0;

	if (at < end && strchr("\"{[", *at) == NULL) {
		while (at < end && strchr(",}] \t\r\n", *at) == NULL)
			at++; /* a word or a number */
		return at;
	}
	for (; at < end; at++) {
		if (*at == '"')
			at = closing_quote(at, end);
		else if (*at == '{' || *at == '[')
			depth++;
		else if (*at == '}' || *at == ']')
			depth--;
		if (depth == 0)
			return at < end ? at + 1 : end;
	}
	return end;
}

static const char *skip(const char *at, const char *end, const char *what)
{
	while (at < end && strchr(what, *at) != NULL)
		at++;
	return at;
}

struct file {
	const char *path; /* JSON text */
	size_t path_size;
	int64_t size;
};

/* Reads a member as the sandbox does: names may be escaped, and of two equal names the last
 * counts. */
static void take_member(struct file *file, const char *key, size_t key_size, const char *value,
			size_t size)
{
	char name[8];

	testimony_text(key, key_size, name, sizeof(name));
	if (strcmp(name, "path") == 0) {
		file->path = value;
		file->path_size = size;
	} else if (strcmp(name, "text") == 0 && value[0] == '"') {
		file->size = (int64_t)size - 2; /* still escaped, so this is an upper bound */
	} else if (strcmp(name, "base64") == 0 && value[0] == '"') {
		file->size = ((int64_t)size - 2) / 4 * 3;
	}
}

static void put_file(struct list *list, const char *at, const char *end)
{
	struct file file = {.size = -1};

	at = skip(at + 1, end, " \t\r\n");
	while (at < end && *at == '"') {
		const char *key = at;
		const char *key_end = value_end(key, end);
		const char *value = skip(key_end, end, " \t\r\n:");

		at = value_end(value, end);
		take_member(&file, key, (size_t)(key_end - key), value, (size_t)(at - value));
		at = skip(at, end, " \t\r\n,");
	}
	put(list, "file", file.path, file.path_size, file.size);
}

static void put_files(struct list *list, const struct run_bytes *files)
{
	const char *at = files->data;
	const char *end = NULL;

	if (at == NULL) {
		/* Too large to be in memory, or none. */
		put_bytes(list, "files", files);
		return;
	}
	end = at + files->size;
	while (list->r == 0 && at < end) {
		const char *next = NULL;

		if (*at != '{') {
			at++;
			continue;
		}
		next = value_end(at, end);
		put_file(list, at, next);
		at = next;
	}
}

static void put_texts(struct list *list, const char *kind, const char *const *texts, bool has_names)
{
	for (; texts != NULL && *texts != NULL; texts++) {
		size_t size = strlen(*texts);
		size_t name = has_names ? strcspn(*texts, "=") : 0;
		size_t start = name < size && has_names ? name + 1 : name;
		const struct run_bytes value = {.data = *texts + start, .size = size - start};

		put_shown(list, kind, has_names ? *texts : NULL, name, &value, PREVIEW);
	}
}

static void put_stdin(struct list *list, const struct run_request *request)
{
	if (request->stdin_kind == RUN_STDIN_PIPE)
		put(list, "stdin", "\"live\"", strlen("\"live\""), -1);
	else if (request->stdin_bytes.size > 0)
		put_shown(list, "stdin", NULL, 0, &request->stdin_bytes, PREVIEW);
}

/* Adds any other value: its JSON text stands in place of a name. */
static void put_value(struct list *list, const struct run_request *request,
		      const struct op_param *param)
{
	struct buf text;

	buf_init(&text, 8UL * NAME_MAX_SHOWN);
	if (list->r == 0)
		list->r = request_put(request, param, &text);
	put(list, param->name, (const char *)text.data, text.size, -1);
	buf_done(&text);
}

static void put_param(struct list *list, const struct run_request *request,
		      const struct op_param *param)
{
	const struct run_bytes *bytes = request_bytes(request, param);

	if (bytes == &request->stdin_bytes) {
		put_stdin(list, request);
	} else if (bytes == &request->files_json) {
		put_files(list, bytes);
		for (size_t i = 0; i < request->file_count; i++)
			put_named(list, "file", request->files[i].path,
				  strlen(request->files[i].path),
				  (int64_t)request->files[i].bytes.size);
	} else if (param->type == OP_PAIRS) {
		put_texts(list, param->name, request_texts(request, param), true);
		if (request_texts(request, param) == request->env)
			put_texts(list, "argv", request->argv, false);
	} else if (bytes == &request->data && bytes->size > 0) {
		put_shown(list, param->name, NULL, 0, bytes, PREVIEW);
	} else if (param->meta == NULL || param->is_unshown || !request_has(request, param)) {
		return;
	} else if (bytes != NULL && param->type == OP_JSON) {
		put_shown(list, param->name, NULL, 0, bytes, INPUTS_ARGS_MAX);
	} else if (bytes != NULL) {
		put_bytes(list, param->name, bytes);
	} else {
		put_value(list, request, param);
	}
}

int inputs_put(const struct run_request *request, struct buf *buf)
{
	struct list list = {.buf = buf, .is_first = true, .r = buf_text(buf, "[")};

	/* The runner of a shell takes its folder as `args`, and nothing else. */
	if (request->kind.runtime->is_shell)
		put_named(&list, "cwd", request->args.data, (size_t)request->args.size, -1);
	for (size_t i = 0; i < RUN_PARAMS && !request->kind.runtime->is_shell; i++)
		put_param(&list, request, &run_params[i]);
	return list.r == 0 ? buf_text(buf, "]") : list.r;
}
