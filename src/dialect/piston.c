// SPDX-License-Identifier: Apache-2.0
/* Piston, version 2 of its API: GET /api/v2/runtimes and POST /api/v2/execute. Errors are
 * {"message"}, a run's end is a code or a signal. */
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "dialect/door.h"
#include "dialect/range.h"
#include "dialect/script.h"
#include "session/engine.h"

#define LANGUAGE "python"
#define FILES_MAX 1000U
#define ARGS_MAX 1000U
#define TIMEOUT_MIN_MS 10
#define MEMORY_MIN (16 * MIB)
#define ANSWER_MAX (4ULL << 30)

static const char *const aliases[] = {"py", "py3", "python3"};

/* Kept for the daemon's life: which Python this is, once a sandbox has said so. */
struct piston {
	char version[16];
	struct version parts;
};

/* One execute. */
struct execution {
	struct op_run_args args;
	struct script script;
	struct ask *ask; /* borrowed while it runs; NULL: it does not */
};

static void say(struct door_call *call, unsigned status, const char *text)
{
	door_answer_text(call, status, "message", text);
}

static void refuse(struct door_call *call, unsigned status, const struct err *err)
{
	switch (status) {
	case 400:
		say(call, 400, "the body is not a JSON object");
		break;
	case 404:
	case 405:
		say(call, 404, "Not Found");
		break;
	default:
		say(call, status, err->text);
	}
}

__attribute__((format(printf, 2, 3))) static int bad(struct door_call *call, const char *format,
						     ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	say(call, 400, text);
	return -EINVAL;
}

/* ---- which Python this is ---- */

static void answer_runtimes(struct door_call *call)
{
	const struct piston *piston = call->state;
	json_t *names = json_array();

	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		(void)json_array_append_new(names, json_string(aliases[i]));
	door_answer_tree(call, 200,
			 json_pack("[{s:s,s:s,s:o}]", "language", LANGUAGE, "version",
				   piston->version, "aliases", names));
}

static void execute_checked(struct door_call *call);

static void take_version(void *user, const struct ask_result *result)
{
	struct door_call *call = user;
	struct piston *piston = call->state;
	const char *text = NULL;
	size_t size = 0;

	if (result->err != NULL) {
		say(call, door_status(result->err), result->err->text);
		return;
	}
	if (json_find(result->bytes, result->size, "stdout", &text, &size) && size > 2)
		(void)snprintf(piston->version, sizeof(piston->version), "%.*s", (int)size - 2,
			       text + 1);
	if (!version_parse(piston->version, &piston->parts)) {
		piston->version[0] = '\0';
		say(call, 500, "no sandbox could say which Python it has");
	} else if (call->user != NULL) {
		execute_checked(call);
	} else {
		answer_runtimes(call);
	}
}

static void ask_version(struct door_call *call)
{
	static const char code[] = "import sys; print('%d.%d.%d' % sys.version_info[:3], end='')";
	static const struct ask_calls calls = {.done = take_version};
	struct op_run_args *args = door_memory(call, sizeof(*args));

	args->code = (struct run_bytes){.data = code, .size = sizeof(code) - 1, .fd = -1};
	(void)door_ask(call, &op_run, args, &calls);
}

static void runtimes(struct door_call *call)
{
	const struct piston *piston = call->state;

	if (piston->version[0] != '\0')
		answer_runtimes(call);
	else
		ask_version(call);
}

/* ---- the request ---- */

/* A limit: absent and 0 are not given, a negative one is none where that is allowed. */
static int take_limit(struct door_call *call, const json_t *body, const char *name,
		      bool may_be_none, uint64_t max, uint64_t min, uint64_t *ret_limit)
{
	const json_t *value = json_object_get(body, name);
	double number;

	if (value == NULL || json_is_null(value))
		return 0;
	if (!json_is_number(value))
		return bad(call, "%s: not a number", name);
	number = json_number_value(value);
	if (number < 0 && !may_be_none)
		return bad(call, "%s: less than zero", name);
	if (number <= 0)
		return 0;
	if (number > (double)max)
		return bad(call, "%s: above the configured limit of %llu", name,
			   (unsigned long long)max);
	if (ret_limit != NULL)
		*ret_limit = number < (double)min ? min : (uint64_t)number;
	return 0;
}

static int take_limits(struct door_call *call, const json_t *body, struct policy_ask *limits)
{
	struct err err = {0};
	const struct policy *policy = op_policy(call->engine->config, &call->caller, NULL, &err);
	int r;

	if (policy == NULL) {
		say(call, door_status(&err), err.text);
		return -err.num;
	}
	r = take_limit(call, body, "run_timeout", false, policy->timeout_max_ms, TIMEOUT_MIN_MS,
		       &limits->timeout_ms);
	if (r == 0)
		r = take_limit(call, body, "run_memory_limit", true, policy->memory, MEMORY_MIN,
			       &limits->memory);
	/* Nothing is compiled, and time on the processor is within the run's timeout. */
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

/* The bytes of a file; `content` as it stands, or decoded. */
static int decode_content(struct door_call *call, const json_t *content, const char *encoding,
			  size_t i, struct run_bytes *ret_bytes)
{
	const char *text = json_string_value(content);
	size_t size = json_string_length(content);
	const char *end = text;
	unsigned char *bytes;
	size_t n = 0;
	int r;

	*ret_bytes = (struct run_bytes){.data = text, .size = size, .fd = -1};
	if (strcmp(encoding, "utf8") == 0)
		return 0;
	bytes = door_memory(call, size + 1);
	if (strcmp(encoding, "base64") == 0)
		r = sodium_base642bin(bytes, size + 1, text, size, "\r\n", &n, &end,
				      sodium_base64_VARIANT_ORIGINAL);
	else if (strcmp(encoding, "hex") == 0)
		r = sodium_hex2bin(bytes, size + 1, text, size, NULL, &n, &end);
	else
		return bad(call, "files[%zu].encoding: allowed: base64, hex, utf8", i);
	if (r != 0 || end != text + size)
		return bad(call, "files[%zu].content: not %s", i, encoding);
	*ret_bytes = (struct run_bytes){.data = bytes, .size = n, .fd = -1};
	return 0;
}

/* A name stays below the folder of the run. The op checks it again, and so does the sandbox. */
static bool is_name_fine(const char *name)
{
	const char *rest = name;

	if (name[0] == '/' || name[0] == '\0' || strlen(name) > 1024)
		return false;
	while (rest != NULL) {
		if (strncmp(rest, "..", 2) == 0 && (rest[2] == '/' || rest[2] == '\0'))
			return false;
		rest = strchr(rest, '/');
		rest = rest != NULL ? rest + 1 : NULL;
	}
	return name[strlen(name) - 1] != '/';
}

static int take_file(struct door_call *call, const json_t *given, size_t i, struct run_file *file,
		     bool *ret_is_text)
{
	const json_t *content = json_object_get(given, "content");
	const json_t *name = json_object_get(given, "name");
	const json_t *encoding = json_object_get(given, "encoding");
	const char *kind = json_is_string(encoding) ? json_string_value(encoding) : "utf8";
	char *path;

	if (!json_is_string(content))
		return bad(call, "files[%zu].content: a string is needed", i);
	if (json_is_string(name) && json_string_length(name) > 0) {
		if (!is_name_fine(json_string_value(name)))
			return bad(call, "files[%zu].name: must be a path below the run's folder",
				   i);
		file->path = json_string_value(name);
	} else {
		path = door_memory(call, 32);
		(void)snprintf(path, 32, "file%zu.code", i);
		file->path = path;
	}
	*ret_is_text = strcmp(kind, "utf8") == 0;
	return decode_content(call, content, kind, i, &file->bytes);
}

/* All of them are put there; the first that is text is the program. */
static int take_files(struct door_call *call, const json_t *body, struct op_run_args *args,
		      const char **ret_main)
{
	const json_t *list = json_object_get(body, "files");
	size_t count = json_array_size(list);
	struct run_file *files;

	if (!json_is_array(list))
		return bad(call, "files: a list is needed");
	if (count > FILES_MAX)
		return bad(call, "files: at most %u", FILES_MAX);
	files = door_memory(call, (count + 1) * sizeof(*files));
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

static int take_arguments(struct door_call *call, const json_t *body, const char *main_file,
			  struct op_run_args *args)
{
	const json_t *list = json_object_get(body, "args");
	size_t count = json_array_size(list);
	const char **argv;

	if (list != NULL && !json_is_null(list) && !json_is_array(list))
		return bad(call, "args: not a list");
	if (count > ARGS_MAX)
		return bad(call, "args: at most %u", ARGS_MAX);
	argv = door_memory(call, (count + 2) * sizeof(*argv));
	argv[0] = main_file;
	for (size_t i = 0; i < count; i++) {
		argv[i + 1] = json_string_value(json_array_get(list, i));
		if (argv[i + 1] == NULL)
			return bad(call, "args[%zu]: not a string", i);
	}
	args->argv = argv;
	return 0;
}

static int take_stdin(struct door_call *call, const json_t *body, struct op_run_args *args)
{
	const json_t *text = json_object_get(body, "stdin");

	if (text != NULL && !json_is_null(text) && !json_is_string(text))
		return bad(call, "stdin: not a string");
	args->stdin_kind = RUN_STDIN_BYTES;
	args->stdin_bytes = (struct run_bytes){
		.data = json_is_string(text) ? json_string_value(text) : "",
		.size = json_string_length(text),
		.fd = -1,
	};
	return 0;
}

static int check_language(struct door_call *call, const json_t *body)
{
	const struct piston *piston = call->state;
	const char *language = json_string_value(json_object_get(body, "language"));
	const char *range = json_string_value(json_object_get(body, "version"));
	bool is_ours;

	if (language == NULL || language[0] == '\0')
		return bad(call, "language: a string is needed");
	if (range == NULL || range[0] == '\0')
		return bad(call, "version: a string is needed");
	is_ours = strcmp(language, LANGUAGE) == 0;
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		is_ours = is_ours || strcmp(language, aliases[i]) == 0;
	if (!is_ours || !range_has(range, &piston->parts))
		return bad(call, "%.100s-%.100s: no such runtime; there is " LANGUAGE "-%s",
			   language, range, piston->version);
	return 0;
}

/* ---- the answer ---- */

/* What Piston calls the way it ended; NULL for an exit with 0. */
static const char *status_of(const struct script *script)
{
	if (script_is(script, "timeout"))
		return "TO";
	if (script_is(script, "output"))
		return "OL";
	if (script_is_stopped(script))
		return "SG";
	return script->exit_code != 0 ? "RE" : NULL;
}

static int put_stream(struct buf *buf, const char *name, const struct buf *text)
{
	int r = buf_format(buf, "\"%s\":\"", name);

	if (r == 0)
		r = buf_append(buf, text->data, text->size);
	return r == 0 ? buf_text(buf, "\",") : r;
}

static int put_end(struct buf *buf, struct script *script)
{
	const char *status = status_of(script);
	bool is_killed = script_is_stopped(script);
	int signal = script->signal > 0 ? (int)script->signal : SIGKILL;
	const char *name = sigabbrev_np(signal);
	int r;

	if (is_killed)
		r = buf_format(buf, "\"code\":null,\"signal\":\"SIG%s\",",
			       name != NULL ? name : "KILL");
	else
		r = buf_format(buf, "\"code\":%lld,\"signal\":null,", (long long)script->exit_code);
	if (r == 0 && status == NULL)
		r = buf_text(buf, "\"message\":null,\"status\":null,");
	else if (r == 0)
		r = buf_format(buf, "\"message\":\"%s\",\"status\":\"%s\",",
			       buf_string(&script->message), status);
	if (r == 0)
		r = buf_format(buf, "\"cpu_time\":%llu,\"wall_time\":%llu,\"memory\":%llu",
			       (unsigned long long)script->cpu_ms,
			       (unsigned long long)script->wall_ms,
			       (unsigned long long)script->memory);
	return r;
}

static void answer_execution(struct door_call *call, struct script *script)
{
	const struct piston *piston = call->state;
	struct buf buf;
	int r;

	buf_init(&buf, ANSWER_MAX);
	r = buf_format(&buf, "{\"language\":\"" LANGUAGE "\",\"version\":\"%s\",\"run\":{",
		       piston->version);
	if (r == 0)
		r = put_stream(&buf, "stdout", &script->out);
	if (r == 0)
		r = put_stream(&buf, "stderr", &script->err);
	if (r == 0)
		r = put_stream(&buf, "output", &script->both);
	if (r == 0)
		r = put_end(&buf, script);
	if (r == 0)
		r = buf_text(&buf, "}}");
	if (r < 0)
		say(call, 500, "no memory for the answer");
	else
		door_answer(call, 200, &buf);
	buf_done(&buf);
}

/* Nothing is known of the code: it is we who failed. */
static void answer_lost(struct door_call *call, struct script *script)
{
	struct buf buf;

	buf_init(&buf, ANSWER_MAX);
	if (buf_format(&buf, "{\"message\":\"the run was lost: %s\"}",
		       buf_string(&script->message)) == 0)
		door_answer(call, 500, &buf);
	else
		say(call, 500, "the run was lost");
	buf_done(&buf);
}

static bool take_event(void *user, const char *line, size_t size)
{
	struct execution *execution = ((struct door_call *)user)->user;

	script_take(&execution->script, line, size);
	return true;
}

static void finish(void *user, const struct ask_result *result)
{
	struct door_call *call = user;
	struct execution *execution = call->user;
	struct script *script = &execution->script;

	execution->ask = NULL;
	if (result->err != NULL)
		say(call, door_status(result->err), result->err->text);
	else if (script_is(script, "backend") || script->kind[0] == '\0')
		answer_lost(call, script);
	else
		answer_execution(call, script);
}

static void execute_checked(struct door_call *call)
{
	static const struct ask_calls calls = {.event = take_event, .done = finish};
	struct execution *execution = call->user;
	struct err err = {0};
	const json_t *body = door_json(call, &err);
	const char *main_file = NULL;

	if (check_language(call, body) < 0 ||
	    take_files(call, body, &execution->args, &main_file) < 0 ||
	    take_arguments(call, body, main_file, &execution->args) < 0 ||
	    take_stdin(call, body, &execution->args) < 0 ||
	    take_limits(call, body, &execution->args.limits) < 0)
		return;
	execution->ask = door_ask(call, &op_run, &execution->args, &calls);
}

/* Nobody could read the answer later. */
static void cancel(struct door_call *call)
{
	struct execution *execution = call->user;

	if (execution->ask != NULL)
		ask_cancel(execution->ask);
}

static void forget(struct door_call *call)
{
	struct execution *execution = call->user;

	script_done(&execution->script);
}

static void execute(struct door_call *call)
{
	const struct piston *piston = call->state;
	struct execution *execution;
	struct err err = {0};
	const json_t *body = door_json(call, &err);

	if (body == NULL && err.kind == ERR_TOO_LARGE) {
		say(call, 413, err.text);
		return;
	}
	if (!json_is_object(body)) {
		say(call, 400, "the body is not a JSON object");
		return;
	}
	execution = door_memory(call, sizeof(*execution));
	script_init(&execution->script);
	call->user = execution;
	call->ended = forget;
	call->left = cancel;
	if (piston->version[0] != '\0')
		execute_checked(call);
	else
		ask_version(call);
}

static const struct door_route routes[] = {
	{.method = "GET", .path = "/api/v2/runtimes", .run = runtimes},
	{.method = "POST", .path = "/api/v2/execute", .run = execute},
};

static int open_piston(struct engine *engine, void **ret_state, struct err *err)
{
	(void)engine;
	(void)err;
	*ret_state = xnew(struct piston);
	return 0;
}

const struct door door_piston = {
	.name = "piston",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	DOOR_CONFIG(piston),
	.has_cors = true,
	.refuse = refuse,
	.open = open_piston,
	.close = free,
};
