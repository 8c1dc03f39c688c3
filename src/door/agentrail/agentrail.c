// SPDX-License-Identifier: Apache-2.0
#include "door/agentrail/agentrail.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "api/exchange.h"
#include "api/values.h"
#include "base/c.h"
#include "base/json.h"

#define NUMBER_MAX 9007199254740992.0 /* 2^53: larger JSON numbers may not be exact */

/* The arguments of all tools; a tool's rows say which of them it takes. */
static const struct op_param members[] = {
	{.name = "code", .type = OP_BYTES},
	{.name = "command", .type = OP_BYTES},
	{.name = "content", .type = OP_BYTES},
	{.name = "old_string", .type = OP_BYTES},
	{.name = "new_string", .type = OP_BYTES},
	{.name = "working_directory", .type = OP_TEXT},
	{.name = "timeout", .type = OP_MS},
	{.name = "expected_output_files", .type = OP_TEXTS},
	{.name = "session_id", .type = OP_TEXT},
	{.name = "file_path", .type = OP_TEXT},
	{.name = "offset", .type = OP_COUNT},
	{.name = "limit", .type = OP_COUNT},
	{.name = "replace_all", .type = OP_BOOL},
	{.name = "pattern", .type = OP_TEXT},
	{.name = "path", .type = OP_TEXT},
	{.name = "glob", .type = OP_TEXT},
	{.name = "type", .type = OP_TEXT},
	{.name = "output_mode", .type = OP_TEXT},
	{.name = "multiline", .type = OP_BOOL},
	{.name = "case_insensitive", .type = OP_BOOL},
};

static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	exchange_answer_text(call, status, "error", err->text);
}

static int wrong(const struct op_param *param, const char *wanted, struct err *err)
{
	return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s must be %s", param->name, wanted);
}

static int take_number(const struct op_param *param, const json_t *value, void *field,
		       struct err *err)
{
	double given = json_number_value(value);
	uint64_t number;

	if (!json_is_number(value) || given != floor(given) || given < (double)param->min ||
	    given > NUMBER_MAX)
		return wrong(param,
			     param->min > 0 ? "a positive integer" : "an integer of 0 or more",
			     err);
	number = (uint64_t)given;
	memcpy(field, &number, sizeof(number));
	return 0;
}

static int take_text(const struct op_param *param, const json_t *value, void *field,
		     struct err *err)
{
	const char *text = json_string_value(value);

	if (text == NULL || strlen(text) != json_string_length(value))
		return wrong(param, "a text", err);
	if (param->max > 0 && strlen(text) > param->max)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "%s must be a string of at most %llu bytes", param->name,
			       (unsigned long long)param->max);
	if (param->choices != NULL && !value_is_choice(param->choices, text))
		return wrong(param, param->choices, err);
	memcpy(field, &text, sizeof(text));
	return 0;
}

static int take_texts(struct exchange *call, const struct op_param *param, const json_t *value,
		      void *field, struct err *err)
{
	const char **list;
	size_t i;
	json_t *item;

	if (!json_is_array(value))
		return wrong(param, "a list of texts", err);
	list = exchange_memory(call, (json_array_size(value) + 1) * sizeof(*list));
	json_array_foreach(value, i, item) {
		list[i] = json_string_value(item);
		if (list[i] == NULL || strlen(list[i]) != json_string_length(item))
			return wrong(param, "a list of texts", err);
	}
	memcpy(field, &list, sizeof(list));
	return 0;
}

static int take_small(struct exchange *call, const struct op_param *param, const json_t *value,
		      void *field, struct err *err)
{
	enum op_bool flag = json_is_true(value) ? OP_YES : OP_NO;

	if (param->type == OP_TEXT)
		return take_text(param, value, field, err);
	if (param->type == OP_TEXTS)
		return take_texts(call, param, value, field, err);
	if (param->type != OP_BOOL)
		return take_number(param, value, field, err);
	if (!json_is_boolean(value))
		return wrong(param, "true or false", err);
	memcpy(field, &flag, sizeof(flag));
	return 0;
}

static int take_args(struct exchange *call, const struct agentrail_tool *tool,
		     struct agentrail_args *args, struct err *err)
{
	for (size_t i = 0; i < tool->param_count; i++) {
		const struct op_param *param = &tool->params[i];
		void *field = (char *)args + param->offset;
		const json_t *value;
		int r = 0;

		if (param->type == OP_BYTES) {
			if (!exchange_large(call, param->name, true, field))
				return wrong(param, "a text", err);
			continue;
		}
		value = exchange_member(call, param->name);
		if (value != NULL && !json_is_null(value))
			r = take_small(call, param, value, field, err);
		else if (param->is_required)
			r = wrong(param, "a text", err);
		else if (param->initial > 0)
			memcpy(field, &param->initial, sizeof(param->initial));
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_answer(struct buf *body, const struct agentrail_answer *answer)
{
	buf_text(body, "{\"content\":[{\"type\":\"text\",\"text\":");
	buf_append(body, answer->text->data, answer->text->size);
	buf_text(body, "}],\"details\":{");
	buf_append(body, answer->details->data, answer->details->size);
	buf_format(body, "}%s,\"session_id\":\"%s\"}",
		   answer->is_refused ? ",\"isError\":true" : "", answer->session);
	return body->failed;
}

static void job_done(void *user, const struct agentrail_answer *answer)
{
	struct exchange *call = user;
	struct buf body;

	call->user = NULL;
	if (answer->err != NULL) {
		call->retry_after_s = answer->retry_after_s;
		exchange_answer_text(call, exchange_status(answer->err), "error",
				     answer->err->text);
	} else {
		buf_init(&body, 2ULL * AGENTRAIL_ANSWER_MAX + KIB);
		if (put_answer(&body, answer) == 0) {
			exchange_answer(call, 200, &body);
		} else {
			buf_done(&body);
			exchange_answer_text(call, 500, "error", "the answer is too large");
		}
	}
	exchange_release(call);
}

static void client_left(struct exchange *call)
{
	if (call->user != NULL)
		agentrail_cancel(call->user);
}

static void run(struct exchange *call)
{
	const char *name = exchange_var(call, "tool");
	const struct agentrail_tool *tool = name != NULL ? agentrail_find(name) : NULL;
	struct agentrail_args *args = exchange_memory(call, sizeof(*args));
	struct agentrail_ask ask = {
		.engine = call->engine,
		.caller = call->caller,
		.tool = tool,
		.args = args,
		.done = job_done,
		.user = call,
	};
	struct agentrail_job *job = NULL;
	struct err err = {0};
	int r;

	if (tool == NULL) {
		exchange_answer_text(call, 404, "error", "there is no such tool");
		return;
	}
	r = take_args(call, tool, args, &err);
	ask.session = args->session_id;
	if (r == 0)
		r = agentrail_new(&ask, &job, &err);
	if (r < 0) {
		exchange_answer_text(call, exchange_status(&err), "error", err.text);
		return;
	}
	exchange_hold(call);
	call->user = job;
	call->left = client_left;
	agentrail_go(job);
}

static const struct door_route routes[] = {
	{.method = "POST", .path = "/tools/{tool}", DOOR_MEMBERS(members), .run = run},
};

const struct door door_agentrail = {
	.name = "agentrail",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	.config = &agentrail_config,
	.refuse = refuse,
};
