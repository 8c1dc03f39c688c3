// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "mcp/mcp_inside.h"

#define LINE_MAX_SIZE 8192U
#define EVENT_MAX (1U << 20)

/* A run under way, whose output is sent line by line. */
struct run_work {
	struct mcp_call *call;
	mcp_op_done *done;
	struct buf lines[2]; /* of stdout and stderr: a line that has no end yet */
};

static void work_free(struct run_work *work)
{
	buf_done(&work->lines[0]);
	buf_done(&work->lines[1]);
	free(work);
}

static void tell_line(struct run_work *work, const char *text, size_t size)
{
	struct mcp_request *request = work->call->request;

	if (request != NULL && size > 0)
		mcp_progress(request, request->progress + 1, 0, text, size);
}

/* Sent once, before anything else, so that the client knows why nothing happens. */
static void tell_held(struct run_work *work, struct span run)
{
	char line[160];
	int n;

	if (run.size < 2)
		return;
	n = snprintf(line, sizeof(line),
		     "held: a person must allow it first: `viv allow %.*s`, or on the page",
		     (int)(run.size - 2), run.at + 1);
	if (n > 0 && (size_t)n < sizeof(line))
		tell_line(work, line, (size_t)n);
}

static void end_line(struct run_work *work, struct buf *line)
{
	tell_line(work, (const char *)line->data, line->size);
	buf_consume(line, line->size);
}

static void take_text(struct run_work *work, struct buf *line, const char *text, size_t size)
{
	while (size > 0) {
		const char *newline = memchr(text, '\n', size);
		size_t n = newline != NULL ? (size_t)(newline - text) : size;
		size_t room = LINE_MAX_SIZE - line->size;

		(void)buf_append(line, text, n < room ? n : room);
		if (newline == NULL)
			return;
		end_line(work, line);
		text += n + 1;
		size -= n + 1;
	}
}

static void on_event(void *user, const char *line, size_t size)
{
	struct run_work *work = user;
	struct mcp_request *request = work->call->request;
	struct event event;
	struct span printed;
	json_auto_t *text = NULL;
	bool is_out;

	/* Without a progress token nothing is sent, so the event need not be read. */
	if (request == NULL || json_object_get(request->message.meta, "progressToken") == NULL)
		return;
	if (size > EVENT_MAX)
		return;
	event_read(line, size, &event);
	if (event_is(&event, "held"))
		tell_held(work, event.run);
	is_out = event_is(&event, "stdout");
	printed = event.told.members[is_out ? RESULT_STDOUT : RESULT_STDERR];
	if (printed.size == 0)
		return;
	text = json_loadb(printed.at, printed.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (json_is_string(text))
		take_text(work, &work->lines[is_out ? 0 : 1], json_string_value(text),
			  json_string_length(text));
}

static void on_end(void *user, const struct ask_result *result)
{
	struct run_work *work = user;
	struct mcp_call *call = work->call;
	mcp_op_done *done = work->done;
	struct ask_result told = *result;
	struct err err = {0};

	call->op = NULL;
	end_line(work, &work->lines[0]);
	end_line(work, &work->lines[1]);
	if (result->err == NULL && (call->is_cancelled || result->value == NULL)) {
		(void)err_set(&err, ERR_CONFLICT, ECANCELED, "the run was cancelled");
		told.err = &err;
	}
	work_free(work);
	done(call, &told);
}

void mcp_call_run(struct mcp_call *call, const struct op *op, const struct run_request *args,
		  mcp_op_done *done)
{
	struct decoded decoded = {.args = xcalloc(1, sizeof(*args))};
	struct run_work *work = xnew(struct run_work);

	memcpy(decoded.args, args, sizeof(*args));
	work->call = call;
	work->done = done;
	buf_init(&work->lines[0], LINE_MAX_SIZE);
	buf_init(&work->lines[1], LINE_MAX_SIZE);
	call->op =
		mcp_op_start(call->mcp, &call->caller, op, &decoded, NULL, on_event, on_end, work);
}
