// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

#define LINE_MAX_SIZE 8192U
#define EVENT_MAX (1U << 20)

/* A run on its way: what it prints is told line by line. */
struct run_work {
	struct mcp_call *call;
	mcp_op_done *done;
	struct buf line; /* of stdout, not whole yet */
};

static void work_free(struct run_work *work)
{
	buf_done(&work->line);
	free(work);
}

static void tell_line(struct run_work *work, const char *text, size_t size)
{
	struct mcp_request *request = work->call->request;

	if (request != NULL && size > 0)
		mcp_progress(request, request->progress + 1, 0, text, size);
}

/* Once, before anything else can be told: whoever asked sees why nothing happens. */
static void tell_held(struct run_work *work, const char *event, size_t size)
{
	const char *run = NULL;
	size_t run_size = 0;
	char line[160];
	int n;

	if (!json_find(event, size, "run", &run, &run_size) || run_size < 2)
		return;
	n = snprintf(line, sizeof(line),
		     "held: a person must allow it first: `viv allow %.*s`, or on the page",
		     (int)(run_size - 2), run + 1);
	if (n > 0 && (size_t)n < sizeof(line))
		tell_line(work, line, (size_t)n);
}

static void take_text(struct run_work *work, const char *text, size_t size)
{
	while (size > 0) {
		const char *newline = memchr(text, '\n', size);
		size_t n = newline != NULL ? (size_t)(newline - text) : size;
		size_t room = LINE_MAX_SIZE - work->line.size;

		(void)buf_append(&work->line, text, n < room ? n : room);
		if (newline == NULL)
			return;
		tell_line(work, (const char *)work->line.data, work->line.size);
		buf_consume(&work->line, work->line.size);
		text += n + 1;
		size -= n + 1;
	}
}

static bool is_word(const char *value, size_t size, const char *word)
{
	return size == strlen(word) && memcmp(value, word, size) == 0;
}

static void on_event(void *user, const char *event, size_t size)
{
	struct run_work *work = user;
	struct mcp_request *request = work->call->request;
	const char *value = NULL;
	size_t value_size = 0;
	json_auto_t *text = NULL;

	/* Nobody asked for progress: nothing to take apart. */
	if (request == NULL || json_object_get(request->message.meta, "progressToken") == NULL)
		return;
	if (size > EVENT_MAX || !json_find(event, size, "type", &value, &value_size))
		return;
	if (is_word(value, value_size, "\"held\""))
		tell_held(work, event, size);
	if ((!is_word(value, value_size, "\"stdout\"") &&
	     !is_word(value, value_size, "\"stderr\"")) ||
	    !json_find(event, size, "text", &value, &value_size))
		return;
	text = json_loadb(value, value_size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (json_is_string(text))
		take_text(work, json_string_value(text), json_string_length(text));
}

static void on_result(void *user, const struct ask_result *result)
{
	struct run_work *work = user;
	struct mcp_call *call = work->call;
	mcp_op_done *done = work->done;

	work_free(work);
	call->op = NULL;
	done(call, result->bytes, result->size, result->err);
}

/* The run is over; its result is in its log. */
static void on_end(void *user, const struct ask_result *result)
{
	struct run_work *work = user;
	struct mcp_call *call = work->call;
	const char *const pairs[] = {"id", result->run, NULL};
	struct decoded decoded = {0};
	struct err err = {0};
	int r = 0;

	call->op = NULL;
	if (work->line.size > 0)
		tell_line(work, (const char *)work->line.data, work->line.size);
	if (result->err != NULL)
		err = *result->err;
	else if (call->is_cancelled)
		(void)err_set(&err, ERR_CONFLICT, ECANCELED, "the run was cancelled");
	else
		r = mcp_op_decode(&op_run_get, pairs, &decoded, &err);
	if (r == 0 && err.kind == ERR_NONE) {
		call->op = mcp_op_start(call->mcp, &call->caller, &op_run_get, &decoded, NULL, NULL,
					on_result, work);
		return;
	}
	work->done(call, NULL, 0, &err);
	work_free(work);
}

void mcp_call_run(struct mcp_call *call, const struct op *op, const struct op_run_args *args,
		  mcp_op_done *done)
{
	struct decoded decoded = {.args = xcalloc(1, sizeof(*args))};
	struct run_work *work = xnew(struct run_work);

	memcpy(decoded.args, args, sizeof(*args));
	work->call = call;
	work->done = done;
	buf_init(&work->line, LINE_MAX_SIZE);
	call->op =
		mcp_op_start(call->mcp, &call->caller, op, &decoded, NULL, on_event, on_end, work);
}
