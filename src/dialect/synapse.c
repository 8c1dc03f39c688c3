// SPDX-License-Identifier: Apache-2.0
#include "dialect/synapse.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "dialect/boot_token.h"
#include "session/engine.h"

#define STDOUT_CHARS 20000
#define STDERR_CHARS 5000
#define TRANSFORM_CHARS 500
#define ANSWER_MAX (64U << 20)

/* As many lines as Synapse itself puts there, so that a traceback has its numbers. */
#define LEAD_TEST "import json; __file__ = '/sandbox/script.py'\n\n\n"
#define LEAD_TRANSFORM "import json; state = _args; result = None\n\n\n"
#define BYTES(text_) ((struct run_bytes){.data = (text_), .size = sizeof(text_) - 1})
#define TAIL_TRANSFORM "\n\n\nresult\n"

/* ---- what HTTP and the tools share ---- */

bool synapse_is_blank(const void *code, uint64_t size)
{
	const char *at = code;

	for (uint64_t i = 0; i < size; i++) {
		if (strchr(" \t\n\r\f\v", at[i]) == NULL || at[i] == '\0')
			return false;
	}
	return true;
}

uint64_t synapse_seconds(const struct config *config, int64_t asked, int64_t most)
{
	struct err err = {0};
	const struct policy *policy = config_policy(config, SYNAPSE_POLICY, &err);
	int64_t limit = policy != NULL ? (int64_t)(policy->timeout_max_ms / 1000) : most;

	if (limit < most)
		most = limit;
	if (asked > most)
		asked = most;
	return asked < 1 ? 1 : (uint64_t)asked;
}

int synapse_put_stderr(struct buf *buf, const struct ending *ending, size_t chars)
{
	bool is_own = ending_is(ending, "ok") || ending_is(ending, "exit") ||
		      ending_is(ending, "exception");
	const struct escaped parts[] = {ending->err, ending->traceback, ending->message,
					text_of("\\n")};

	/* The code's own end needs no word of ours. */
	return texts_put(buf, parts, is_own ? 2 : ARRAY_LEN(parts), chars);
}

/* ---- failures, as FastAPI says them ---- */

void synapse_detail(struct door_call *call, unsigned status, const char *text)
{
	door_answer_text(call, status, "detail", text);
}

void synapse_invalid(struct door_call *call, const char *type, const char *field,
		     const char *message)
{
	json_t *location =
		field != NULL ? json_pack("[s,s]", "body", field) : json_pack("[s]", "body");

	door_answer_tree(call, 422,
			 json_pack("{s:[{s:s,s:o,s:s}]}", "detail", "type", type, "loc", location,
				   "msg", message));
}

static void refuse(struct door_call *call, unsigned status, const struct err *err)
{
	switch (status) {
	case 400:
		synapse_invalid(call, "json_invalid", NULL, "JSON decode error");
		break;
	case 401:
		/* Its own gate says 403 to whoever has no token. */
		synapse_detail(call, 403, "Forbidden: a valid token is required");
		break;
	case 404:
		synapse_detail(call, 404, "Not Found");
		break;
	case 405:
		synapse_detail(call, 405, "Method Not Allowed");
		break;
	default:
		synapse_detail(call, status, err->text);
	}
}

/* ---- runs ---- */

enum kind {
	KIND_TEST,
	KIND_CUSTOM,
	KIND_TRANSFORM,
};

struct job {
	enum kind kind;
	uint64_t seconds;
	struct op_run_args args;
	struct ask *ask; /* NULL: it is over */
};

static const struct op_param run_members[] = {
	{.name = "code", .type = OP_BYTES},
	{.name = "args", .type = OP_JSON},
	{.name = "state", .type = OP_JSON},
	{.name = "timeout", .type = OP_COUNT},
};

/* {exit_code, stdout, stderr} */
static int put_test(struct buf *body, const struct job *job, const struct ending *ending)
{
	int r;

	if (ending_is(ending, "timeout"))
		return buf_format(body,
				  "{\"exit_code\":-1,\"stdout\":\"\",\"stderr\":\"Execution timed "
				  "out after %llus\"}",
				  (unsigned long long)job->seconds);
	r = buf_format(body, "{\"exit_code\":%d,\"stdout\":", ending->exit_code);
	if (r == 0)
		r = texts_put(body, &ending->out, 1, STDOUT_CHARS);
	if (r == 0)
		r = buf_text(body, ",\"stderr\":");
	if (r == 0)
		r = synapse_put_stderr(body, ending, STDERR_CHARS);
	return r < 0 ? r : buf_text(body, "}");
}

/* The JSON that was printed, as it stands; 0: it is none. */
static int put_printed(struct buf *body, const struct ending *ending)
{
	size_t before = body->size;
	int r = text_decode(body, escaped_trim(ending->out));

	if (r == 0 && json_is_valid(body->data + before, body->size - before))
		return 1;
	body->size = before;
	return r;
}

static int put_custom(struct buf *body, const struct job *job, const struct ending *ending)
{
	int r = 0;

	if (ending_is(ending, "timeout"))
		return buf_format(body,
				  "{\"error\":\"Python tool execution timed out after %llus\"}",
				  (unsigned long long)job->seconds);
	if (ending->exit_code == 0) {
		r = put_printed(body, ending);
		if (r != 0)
			return r < 0 ? r : 0;
		r = buf_text(body, "{\"output\":");
		if (r == 0)
			r = texts_put(body, &ending->out, 1, STDOUT_CHARS);
		return r < 0 ? r : buf_text(body, "}");
	}
	r = buf_format(body, "{\"error\":\"Python tool exited with code %d\",\"stderr\":",
		       ending->exit_code);
	if (r == 0)
		r = synapse_put_stderr(body, ending, STDERR_CHARS);
	if (r == 0)
		r = buf_text(body, ",\"stdout\":");
	if (r == 0)
		r = texts_put(body, &ending->out, 1, STDOUT_CHARS);
	return r < 0 ? r : buf_text(body, "}");
}

/* What `result` is; without one what was printed, as JSON or as text; else null. */
static int put_transform(struct buf *body, const struct ending *ending)
{
	int r;

	if (ending->value.size > 0 && memcmp(ending->value.at, "null", 4) != 0)
		return buf_append(body, ending->value.at, ending->value.size);
	r = put_printed(body, ending);
	if (r != 0)
		return r < 0 ? r : 0;
	if (escaped_trim(ending->out).size == 0)
		return buf_text(body, "null");
	return texts_put(body, &ending->out, 1, SIZE_MAX);
}

static void fail_run(struct door_call *call, unsigned status, const char *why)
{
	char text[600];

	(void)snprintf(text, sizeof(text), "Sandbox error: %s", why);
	synapse_detail(call, status, text);
}

static void fail_transform(struct door_call *call, const struct job *job,
			   const struct ending *ending)
{
	char lead[80];
	char late[80];
	struct escaped parts[4] = {{0}, ending->err, ending->traceback, {0}};
	struct buf body;
	size_t chars;
	int r;

	(void)snprintf(lead, sizeof(lead), "Transform failed (exit %d): ", ending->exit_code);
	if (ending_is(ending, "timeout")) {
		(void)snprintf(lead, sizeof(lead), "Transform failed (exit -1): ");
		(void)snprintf(late, sizeof(late), "Execution timed out after %llus",
			       (unsigned long long)job->seconds);
		parts[1] = text_of(late);
	} else if (ending->err.size + ending->traceback.size == 0) {
		parts[3] = ending->message;
	}
	parts[0] = text_of(lead);
	chars = strlen(lead) + TRANSFORM_CHARS;
	buf_init(&body, ANSWER_MAX);
	r = buf_text(&body, "{\"detail\":");
	if (r == 0)
		r = texts_put(&body, parts, ARRAY_LEN(parts), chars);
	if (r == 0)
		r = buf_text(&body, "}");
	if (r == 0) {
		door_answer(call, 500, &body);
		return;
	}
	buf_done(&body);
	fail_run(call, 500, "the output is too large");
}

static void run_done(void *user, const struct ask_result *result)
{
	struct door_call *call = user;
	struct job *job = call->user;
	struct ending ending;
	struct buf body;
	int r;

	job->ask = NULL;
	if (result->err != NULL) {
		unsigned status = door_status(result->err);

		fail_run(call, status == 429 || status == 503 || status == 403 ? status : 500,
			 result->err->text);
		return;
	}
	if (!ending_read(result->bytes, result->size, &ending)) {
		fail_run(call, 500, "the run has no result");
		return;
	}
	buf_init(&body, ANSWER_MAX);
	if (ending_is(&ending, "backend") || ending_is(&ending, "denied") ||
	    ending_is(&ending, "cancelled")) {
		(void)text_decode(&body, ending.message);
		fail_run(call, 500, buf_string(&body));
		buf_done(&body);
		return;
	}
	if (job->kind == KIND_TRANSFORM && ending.exit_code != 0) {
		fail_transform(call, job, &ending);
		return;
	}
	if (job->kind == KIND_TEST)
		r = put_test(&body, job, &ending);
	else if (job->kind == KIND_CUSTOM)
		r = put_custom(&body, job, &ending);
	else
		r = put_transform(&body, &ending);
	if (r < 0) {
		buf_done(&body);
		fail_run(call, 500, "the output is too large");
		return;
	}
	door_answer(call, 200, &body);
}

/* Nobody will read what it says. */
static void client_left(struct door_call *call)
{
	struct job *job = call->user;

	if (job->ask != NULL)
		ask_cancel(job->ask);
}

/* What pydantic takes for an int; false: it is none. */
static bool read_seconds(const json_t *value, int64_t *ret_seconds)
{
	const char *text = json_string_value(value);
	char *end = NULL;

	if (value == NULL || json_is_null(value))
		return true;
	if (json_is_integer(value)) {
		*ret_seconds = json_integer_value(value);
		return true;
	}
	if (json_is_boolean(value)) {
		*ret_seconds = json_is_true(value);
		return true;
	}
	if (json_is_real(value) && fabs(json_real_value(value)) < 1e15 &&
	    json_real_value(value) == floor(json_real_value(value))) {
		*ret_seconds = (int64_t)json_real_value(value);
		return true;
	}
	if (text == NULL || text[0] == '\0' || strlen(text) > 15)
		return false;
	*ret_seconds = strtoll(text, &end, 10);
	return *end == '\0';
}

/* The object that the code gets, or {}. */
static bool read_object(struct door_call *call, const char *name, struct run_bytes *ret_bytes)
{
	struct run_bytes given = {0};
	const char *at;

	*ret_bytes = (struct run_bytes){.data = "{}", .size = 2};
	if (!door_large(call, name, true, &given))
		return true;
	at = given.data;
	if (given.size == 0 || at == NULL || at[0] != '{')
		return false;
	*ret_bytes = given;
	return true;
}

/* The code with what goes before and behind it. */
static void wrap_code(struct door_call *call, struct job *job, const struct run_bytes *code)
{
	const struct run_bytes parts[] = {
		job->kind == KIND_TRANSFORM ? BYTES(LEAD_TRANSFORM) : BYTES(LEAD_TEST),
		*code,
		job->kind == KIND_TRANSFORM ? BYTES(TAIL_TRANSFORM) : BYTES(""),
	};
	char *text = door_memory(call, parts[0].size + parts[1].size + parts[2].size);
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		memcpy(text + at, parts[i].data, parts[i].size);
		at += parts[i].size;
	}
	job->args.code = (struct run_bytes){.data = text, .size = at};
}

static void start_run(struct door_call *call, enum kind kind)
{
	static const struct ask_calls calls = {.done = run_done};
	struct job *job = door_memory(call, sizeof(*job));
	int64_t seconds = SYNAPSE_TIMEOUT_S;
	const char *object = kind == KIND_TRANSFORM ? "state" : "args";
	struct run_bytes code = {0};

	if (!door_large(call, "code", true, &code)) {
		synapse_invalid(call, "missing", "code", "Field required");
		return;
	}
	if (!read_object(call, object, &job->args.args)) {
		synapse_invalid(call, "dict_type", object, "Input should be a valid dictionary");
		return;
	}
	/* The time of a custom tool is not the caller's to choose. */
	if (kind != KIND_CUSTOM && !read_seconds(door_member(call, "timeout"), &seconds)) {
		synapse_invalid(call, "int_parsing", "timeout", "Input should be a valid integer");
		return;
	}
	if (synapse_is_blank(code.data, code.size)) {
		synapse_detail(call, 400, "No code provided");
		return;
	}
	job->kind = kind;
	job->seconds =
		synapse_seconds(call->engine->config, seconds == 0 ? SYNAPSE_TIMEOUT_S : seconds,
				SYNAPSE_HTTP_TIMEOUT_MAX_S);
	job->args.policy = SYNAPSE_POLICY;
	job->args.limits.timeout_ms = job->seconds * 1000;
	wrap_code(call, job, &code);
	call->user = job;
	call->left = client_left;
	job->ask = door_ask(call, &op_run, &job->args, &calls);
}

static void run_test(struct door_call *call)
{
	start_run(call, KIND_TEST);
}

static void run_custom(struct door_call *call)
{
	start_run(call, KIND_CUSTOM);
}

static void run_transform(struct door_call *call)
{
	start_run(call, KIND_TRANSFORM);
}

/* ---- what stands for Docker ---- */

/* We are what its client takes for Docker: there as long as sandboxes can be made. */
static void get_status(struct door_call *call)
{
	bool is_up = call->engine->pool != NULL && !call->engine->is_stopping;

	door_answer_tree(call, 200,
			 json_pack("{s:b,s:b,s:b}", "installed", true, "running", is_up,
				   "image_exists", is_up));
}

static void build(struct door_call *call)
{
	door_answer_tree(call, 200,
			 json_pack("{s:b,s:s}", "success", true, "output",
				   "Nothing to build: code runs in Vivarium's sandboxes, with the "
				   "packages of its runtimes (viv runtime list).\n"));
}

static void get_packages(struct door_call *call)
{
	static const char *const names[] = {
		"pandas",     "pandas_ta",  "numpy",      "scipy",  "scikit-learn",
		"matplotlib", "seaborn",    "requests",   "httpx",  "beautifulsoup4",
		"lxml",       "openpyxl",   "xlsxwriter", "pyyaml", "tabulate",
		"jinja2",     "jsonschema", "pillow",     "sympy",
	};
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)json_array_append_new(list, json_string(names[i]));
	door_answer_tree(call, 200, json_pack("{s:o}", "packages", list));
}

/* ---- the door ---- */

static int open_door(struct engine *engine, void **ret_state, struct err *err)
{
	*ret_state = NULL;
	if (engine->config->synapse_vault[0] == '\0')
		return 0;
	return vault_prepare(engine->config->synapse_vault, err);
}

static int boot(struct config *config, struct err *err)
{
	return boot_token_read(config, "SYNAPSE_INTERNAL_TOKEN", "synapse", err);
}

#define PYTHON(path_, run_)                                                                        \
	{                                                                                          \
		.method = "POST", .path = "/api/tools/python" path_, DOOR_MEMBERS(run_members),    \
		.run = (run_)                                                                      \
	}
#define VAULT(method_, path_, run_)                                                                \
	{                                                                                          \
		.method = (method_), .path = "/api/vault" path_,                                   \
		DOOR_MEMBERS(synapse_file_members), .run = (run_)                                  \
	}

static const struct door_route routes[] = {
	{.method = "GET", .path = "/api/tools/docker/status", .run = get_status},
	{.method = "POST", .path = "/api/tools/docker/build", .run = build},
	{.method = "GET", .path = "/api/tools/python/packages", .run = get_packages},
	PYTHON("/test", run_test),
	PYTHON("/custom", run_custom),
	PYTHON("/transform", run_transform),
	VAULT("GET", "/tree", synapse_get_tree),
	VAULT("GET", "/search", synapse_search),
	VAULT("GET", "/file", synapse_get_file),
	VAULT("POST", "/file", synapse_create_file),
	VAULT("PUT", "/file", synapse_update_file),
	VAULT("POST", "/folder", synapse_create_folder),
	VAULT("DELETE", "/item", synapse_delete_item),
};

const struct door door_synapse = {
	.name = "synapse",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	DOOR_CONFIG(synapse),
	.token_header = "X-Synapse-Internal",
	.refuse = refuse,
	.boot = boot,
	.open = open_door,
};
