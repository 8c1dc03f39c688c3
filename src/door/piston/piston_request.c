// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "door/piston/piston.h"
#include "door/script.h"
#include "session/engine.h"

#define FILES_MAX 1000U
#define ARGS_MAX 1000U
#define TIMEOUT_MIN_MS 10
#define MEMORY_MIN (16 * MIB)

const char *const piston_aliases[] = {"py", "py3", "python3", NULL};

__attribute__((format(printf, 2, 3))) static int bad(struct exchange *call, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	piston_say(call, 400, text);
	return -EINVAL;
}

/* Reads a limit. Absent or 0: not given. Negative: no limit, where that is allowed. */
static int take_limit(struct exchange *call, const json_t *body, const char *name, bool may_be_none,
		      uint64_t max, uint64_t min, uint64_t *ret_limit)
{
	const json_t *value = json_object_get(body, name);
	double number;

	if (value == NULL || json_is_null(value))
		return 0;
	if (!json_is_number(value))
		return bad(call, "%s: must be a number", name);
	number = json_number_value(value);
	if (number < 0 && !may_be_none)
		return bad(call, "%s: must not be negative", name);
	if (number <= 0)
		return 0;
	if (number > (double)max)
		return bad(call, "%s: above the configured limit of %llu", name,
			   (unsigned long long)max);
	if (ret_limit != NULL)
		*ret_limit = number < (double)min ? min : (uint64_t)number;
	return 0;
}

static int take_limits(struct exchange *call, const json_t *body, struct policy_ask *limits)
{
	struct err err = {0};
	const struct policy *policy = op_policy(call->engine->config, &call->caller, NULL, &err);
	int r;

	if (policy == NULL) {
		piston_say(call, exchange_status(&err), err.text);
		return -err.num;
	}
	r = take_limit(call, body, "run_timeout", false, policy->timeout_max_ms, TIMEOUT_MIN_MS,
		       &limits->timeout_ms);
	if (r == 0)
		r = take_limit(call, body, "run_memory_limit", true, policy->memory, MEMORY_MIN,
			       &limits->memory);
	/* These are only checked: nothing is compiled, and the run's timeout bounds its CPU
	 * time. */
	if (r == 0)
		r = take_limit(call, body, "run_cpu_time", false, UINT64_MAX, 0, NULL);
	if (r == 0)
		r = take_limit(call, body, "compile_timeout", false, UINT64_MAX, 0, NULL);
	if (r == 0)
		r = take_limit(call, body, "compile_cpu_time", false, UINT64_MAX, 0, NULL);
	if (r == 0)
		r = take_limit(call, body, "compile_memory_limit", true, UINT64_MAX, 0, NULL);
	return r;
}

/* The bytes of a file: `content` as it is, or decoded. */
static int decode_content(struct exchange *call, const json_t *content, const char *encoding,
			  size_t i, struct run_bytes *ret_bytes)
{
	const char *text = json_string_value(content);
	size_t size = json_string_length(content);
	AUTO_BUF struct buf decoded = {.max = size + 3};
	unsigned char *bytes;
	size_t n = 0;
	int r;

	*ret_bytes = (struct run_bytes){.data = text, .size = size, .fd = -1};
	if (strcmp(encoding, "utf8") == 0)
		return 0;
	bytes = exchange_memory(call, size + 1);
	if (strcmp(encoding, "base64") == 0) {
		r = buf_unbase64(&decoded, text, size, "\r\n");
		n = decoded.size;
		if (r == 0)
			memcpy(bytes, decoded.data, n);
	} else if (strcmp(encoding, "hex") == 0) {
		r = sodium_hex2bin(bytes, size + 1, text, size, NULL, &n, NULL);
	} else {
		return bad(call, "files[%zu].encoding: allowed: base64, hex, utf8", i);
	}
	if (r != 0)
		return bad(call, "files[%zu].content: is not valid %s", i, encoding);
	*ret_bytes = (struct run_bytes){.data = bytes, .size = n, .fd = -1};
	return 0;
}

static int take_file(struct exchange *call, const json_t *given, size_t i, struct run_file *file,
		     bool *ret_is_text)
{
	const json_t *content = json_object_get(given, "content");
	const json_t *name = json_object_get(given, "name");
	const json_t *encoding = json_object_get(given, "encoding");
	const char *kind = json_is_string(encoding) ? json_string_value(encoding) : "utf8";
	char *path;

	if (!json_is_string(content))
		return bad(call, "files[%zu].content: must be a string", i);
	if (json_is_string(name) && json_string_length(name) > 0) {
		if (!script_is_path(json_string_value(name)))
			return bad(call, "files[%zu].name: must be a path below the run's folder",
				   i);
		file->path = json_string_value(name);
	} else {
		path = exchange_memory(call, 32);
		(void)snprintf(path, 32, "file%zu.code", i);
		file->path = path;
	}
	*ret_is_text = strcmp(kind, "utf8") == 0;
	return decode_content(call, content, kind, i, &file->bytes);
}

/* All files are written; the first text file is the program. */
static int take_files(struct exchange *call, const json_t *body, struct run_request *args,
		      const char **ret_main)
{
	const json_t *list = json_object_get(body, "files");
	size_t count = json_array_size(list);
	struct run_file *files;

	if (!json_is_array(list))
		return bad(call, "files: must be a list");
	if (count > FILES_MAX)
		return bad(call, "files: at most %u", FILES_MAX);
	files = exchange_memory(call, (count + 1) * sizeof(*files));
	for (size_t i = 0; i < count; i++) {
		bool is_text = false;
		int r = take_file(call, json_array_get(list, i), i, &files[i], &is_text);

		if (r < 0)
			return r;
		if (is_text && *ret_main == NULL) {
			*ret_main = files[i].path;
			args->code = files[i].bytes;
		}
	}
	if (*ret_main == NULL)
		return bad(call, "files: one of them must be text");
	args->files = files;
	args->file_count = count;
	return 0;
}

static int take_arguments(struct exchange *call, const json_t *body, const char *main_file,
			  struct run_request *args)
{
	const json_t *list = json_object_get(body, "args");
	size_t count = json_array_size(list);
	const char **argv;

	if (list != NULL && !json_is_null(list) && !json_is_array(list))
		return bad(call, "args: must be a list");
	if (count > ARGS_MAX)
		return bad(call, "args: at most %u", ARGS_MAX);
	argv = exchange_memory(call, (count + 2) * sizeof(*argv));
	argv[0] = main_file;
	for (size_t i = 0; i < count; i++) {
		argv[i + 1] = json_string_value(json_array_get(list, i));
		if (argv[i + 1] == NULL)
			return bad(call, "args[%zu]: must be a string", i);
	}
	args->argv = argv;
	return 0;
}

static int take_stdin(struct exchange *call, const json_t *body, struct run_request *args)
{
	const json_t *text = json_object_get(body, "stdin");

	if (text != NULL && !json_is_null(text) && !json_is_string(text))
		return bad(call, "stdin: must be a string");
	args->stdin_kind = RUN_STDIN_BYTES;
	args->stdin_bytes = (struct run_bytes){
		.data = json_is_string(text) ? json_string_value(text) : "",
		.size = json_string_length(text),
		.fd = -1,
	};
	return 0;
}

static int check_language(struct exchange *call, const json_t *body)
{
	const struct piston *piston = call->state;
	const char *language = json_string_value(json_object_get(body, "language"));
	const char *range = json_string_value(json_object_get(body, "version"));
	bool is_ours;

	if (language == NULL || language[0] == '\0')
		return bad(call, "language: must be a string that is not empty");
	if (range == NULL || range[0] == '\0')
		return bad(call, "version: must be a string that is not empty");
	is_ours = strcmp(language, PISTON_LANGUAGE) == 0;
	for (size_t i = 0; piston_aliases[i] != NULL; i++)
		is_ours = is_ours || strcmp(language, piston_aliases[i]) == 0;
	if (!is_ours || !range_has(range, &piston->parts))
		return bad(call, "%.100s-%.100s: no such runtime; there is " PISTON_LANGUAGE "-%s",
			   language, range, piston->version);
	return 0;
}

int piston_take(struct exchange *call, const json_t *body, struct run_request *args)
{
	const char *main_file = NULL;
	int r = check_language(call, body);

	if (r == 0)
		r = take_files(call, body, args, &main_file);
	if (r == 0)
		r = take_arguments(call, body, main_file, args);
	if (r == 0)
		r = take_stdin(call, body, args);
	if (r == 0)
		r = take_limits(call, body, &args->limits);
	return r;
}
