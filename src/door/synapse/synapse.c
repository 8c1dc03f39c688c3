// SPDX-License-Identifier: Apache-2.0
#include "door/synapse/synapse.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/boot_token.h"
#include "session/engine.h"

#define ANSWER_MAX (64U << 20)

/* These run separately from the code, so that what is shown of the run, and the line numbers of a
 * traceback, are those of the code itself. */
#define LEAD_TEST "import json; __file__ = '/sandbox/script.py'"
#define LEAD_TRANSFORM "import json; state = _args; result = None"
#define TAIL_TRANSFORM "[result]" /* in a list, every value has a JSON form */
#define BYTES(text_) ((struct run_bytes){.data = (text_), .size = sizeof(text_) - 1})

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

/* ---- failures, in FastAPI's form ---- */

void synapse_detail(struct exchange *call, unsigned status, const char *text)
{
	exchange_answer_text(call, status, "detail", text);
}

void synapse_invalid(struct exchange *call, const char *type, const char *field,
		     const char *message)
{
	json_t *location =
		field != NULL ? json_pack("[s,s]", "body", field) : json_pack("[s]", "body");

	exchange_answer_tree(call, 422,
			     json_pack("{s:[{s:s,s:o,s:s}]}", "detail", "type", type, "loc",
				       location, "msg", message));
}

static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	switch (status) {
	case 400:
		synapse_invalid(call, "json_invalid", NULL, "JSON decode error");
		break;
	case 401:
		/* Synapse itself answers 403 to a request without a token. */
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
	struct run_request args;
};

static const struct op_param run_members[] = {
	{.name = "code", .type = OP_BYTES},
	{.name = "args", .type = OP_JSON},
	{.name = "state", .type = OP_JSON},
	{.name = "timeout", .type = OP_COUNT},
};

static void fail_run(struct exchange *call, unsigned status, const char *why)
{
	char text[600];

	(void)snprintf(text, sizeof(text), "Sandbox error: %s", why);
	synapse_detail(call, status, text);
}

static void run_done(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct job *job = call->user;
	struct ending ending;
	AUTO_BUF struct buf body = {.max = ANSWER_MAX};
	unsigned status = 200;
	int r;

	if (result->err != NULL) {
		status = exchange_status(result->err);
		fail_run(call, status == 429 || status == 503 || status == 403 ? status : 500,
			 result->err->text);
		return;
	}
	if (!ending_read(result->value, &ending)) {
		fail_run(call, 500, "the run has no result");
		return;
	}
	if (ending_is(&ending, "backend") || ending_is(&ending, "denied") ||
	    ending_is(&ending, "cancelled")) {
		(void)escaped_decode(&body, ending.message);
		fail_run(call, 500, buf_string(&body));
		return;
	}
	if (job->kind == KIND_TEST)
		r = synapse_put_test(&body, job->seconds, &ending);
	else if (job->kind == KIND_CUSTOM)
		r = synapse_put_custom(&body, job->seconds, &ending);
	else
		r = synapse_put_transform(&body, job->seconds, &ending, &status);
	if (r < 0)
		fail_run(call, 500, "the output is too large");
	else
		exchange_answer(call, status, &body);
}

/* Reads what pydantic accepts as an int; false: not an int. */
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

/* Reads the object that the code gets; {} if it is absent. */
static bool read_object(struct exchange *call, const char *name, struct run_bytes *ret_bytes)
{
	struct run_bytes given = {0};
	const char *at;

	*ret_bytes = (struct run_bytes){.data = "{}", .size = 2};
	if (!exchange_large(call, name, true, &given))
		return true;
	at = given.data;
	if (given.size == 0 || at == NULL || at[0] != '{')
		return false;
	*ret_bytes = given;
	return true;
}

static void start_run(struct exchange *call, enum kind kind)
{
	static const struct ask_calls calls = {.done = run_done};
	struct job *job = exchange_memory(call, sizeof(*job));
	int64_t seconds = SYNAPSE_TIMEOUT_S;
	const char *object = kind == KIND_TRANSFORM ? "state" : "args";
	struct run_bytes *code = &job->args.code;

	if (exchange_is_wrong(call, "code")) {
		synapse_invalid(call, "string_type", "code", "Input should be a valid string");
		return;
	}
	if (!exchange_large(call, "code", true, code)) {
		synapse_invalid(call, "missing", "code", "Field required");
		return;
	}
	if (!read_object(call, object, &job->args.args)) {
		synapse_invalid(call, "dict_type", object, "Input should be a valid dictionary");
		return;
	}
	/* A custom tool's timeout cannot be chosen by the caller. */
	if (kind != KIND_CUSTOM && !read_seconds(exchange_member(call, "timeout"), &seconds)) {
		synapse_invalid(call, "int_parsing", "timeout", "Input should be a valid integer");
		return;
	}
	if (synapse_is_blank(code->data, code->size)) {
		synapse_detail(call, 400, "No code provided");
		return;
	}
	job->kind = kind;
	job->seconds =
		synapse_seconds(call->engine->config, seconds == 0 ? SYNAPSE_TIMEOUT_S : seconds,
				SYNAPSE_HTTP_TIMEOUT_MAX_S);
	job->args.policy = SYNAPSE_POLICY;
	job->args.limits.timeout_ms = job->seconds * 1000;
	job->args.lead = kind == KIND_TRANSFORM ? BYTES(LEAD_TRANSFORM) : BYTES(LEAD_TEST);
	if (kind == KIND_TRANSFORM)
		job->args.tail = BYTES(TAIL_TRANSFORM);
	call->user = job;
	call->left = exchange_cancel;
	exchange_ask(call, &op_run, &job->args, &calls);
}

static void run_test(struct exchange *call)
{
	start_run(call, KIND_TEST);
}

static void run_custom(struct exchange *call)
{
	start_run(call, KIND_CUSTOM);
}

static void run_transform(struct exchange *call)
{
	start_run(call, KIND_TRANSFORM);
}

/* ---- routes that stand in for Docker ---- */

/* The client takes us for Docker: "running" means that sandboxes can be made. */
static void get_status(struct exchange *call)
{
	bool is_up = call->engine->pool != NULL && !call->engine->is_stopping;

	exchange_answer_tree(call, 200,
			     json_pack("{s:b,s:b,s:b}", "installed", true, "running", is_up,
				       "image_exists", is_up));
}

static void build(struct exchange *call)
{
	exchange_answer_tree(
		call, 200,
		json_pack("{s:b,s:s}", "success", true, "output",
			  "Nothing to build: code runs in Vivarium's sandboxes, with the "
			  "packages of its runtimes (viv runtime list).\n"));
}

static void get_packages(struct exchange *call)
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
	exchange_answer_tree(call, 200, json_pack("{s:o}", "packages", list));
}

/* ---- the door ---- */

static int open_door(struct engine *engine, void **ret_state, struct err *err)
{
	const struct synapse_config *own = config_part(engine->config, &synapse_config);

	*ret_state = NULL;
	return own->vault[0] != '\0' ? vault_prepare(own->vault, err) : 0;
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
	.config = &synapse_config,
	.token_header = "X-Synapse-Internal",
	.refuse = refuse,
	.boot = boot,
	.open = open_door,
};
