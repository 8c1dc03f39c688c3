// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

#define TASK_AFTER_NS 5000000000U /* a call that takes longer becomes a task, where it may */

/* ---- its life ---- */

static struct mcp_call *call_new(struct mcp_request *request, const struct mcp_view *view)
{
	struct mcp_call *call = xnew(struct mcp_call);

	call->mcp = request->mcp;
	call->view = view;
	call->request = request;
	call->name = xtext(request->caller.name);
	call->peer = xtext(request->caller.peer);
	call->caller = request->caller;
	call->caller.name = call->name;
	call->caller.peer = call->peer;
	if (request->session != NULL)
		(void)snprintf(call->session, sizeof(call->session), "%s", request->session->id);
	call->held = request->held;
	request->held = 0;
	call->begun_ns = now_ns();
	request->call = call;
	LIST_INSERT_HEAD(&call->mcp->calls, call, entry);
	return call;
}

static void call_free(struct mcp_call *call)
{
	if (call->request != NULL)
		call->request->call = NULL;
	if (call->task != NULL)
		call->task->call = NULL;
	LIST_REMOVE(call, entry);
	decoded_done(&call->decoded);
	scan_done(call->scan);
	free(call->scan);
	call->mcp->held -= call->held;
	free(call->name);
	free(call->peer);
	free(call);
}

const void *mcp_call_args(const struct mcp_call *call)
{
	return call->decoded.args;
}

const struct op_caller *mcp_call_caller(const struct mcp_call *call)
{
	return &call->caller;
}

struct engine *mcp_call_engine(const struct mcp_call *call)
{
	return call->mcp->engine;
}

void mcp_call_set_state(struct mcp_call *call, void *state)
{
	call->state = state;
}

void *mcp_call_state(const struct mcp_call *call)
{
	return call->state;
}

void mcp_call_on_cancel(struct mcp_call *call, void (*cancel)(struct mcp_call *call))
{
	call->cancel = cancel;
}

/* ---- answers ---- */

void mcp_answer_members(struct mcp_call *call, struct buf *take_members)
{
	struct mcp_request *request = call->request;
	struct mcp_task *task = call->task;

	call_free(call);
	if (task != NULL)
		mcp_task_finish(task, MCP_TASK_COMPLETED, take_members);
	else if (request != NULL)
		mcp_reply_buf(request, NULL, take_members);
	else
		buf_done(take_members);
}

void mcp_answer_refusal(struct mcp_call *call, enum mcp_code code, const char *message)
{
	struct mcp_request *request = call->request;
	struct mcp_task *task = call->task;
	struct buf error;

	call_free(call);
	if (task == NULL) {
		if (request != NULL)
			mcp_refuse(request, 0, code, NULL, "%s", message);
		return;
	}
	buf_init(&error, KIB);
	(void)buf_format(&error, "{\"code\":%d,\"message\":", (int)code);
	(void)json_put_text(&error, message);
	(void)buf_text(&error, "}");
	mcp_task_finish(task, MCP_TASK_FAILED, &error);
}

static int put_text_item(struct buf *buf, const char *joint, const char *text, size_t size)
{
	buf_format(buf, "%s{\"type\":\"text\",\"text\":", joint);
	json_put_string(buf, text, size);
	buf_text(buf, "}");
	return buf->failed;
}

void mcp_answer_json(struct mcp_call *call, bool is_error, const char *text, const char *json,
		     size_t size)
{
	struct buf members;

	/* Ops end their answers with a newline. */
	while (json != NULL && size > 0 && json[size - 1] == '\n')
		size--;
	buf_init(&members, MCP_ANSWER_MAX);
	buf_text(&members, "\"content\":[");
	if (text != NULL)
		put_text_item(&members, "", text, strlen(text));
	if (json != NULL)
		put_text_item(&members, text != NULL ? "," : "", json, size);
	buf_text(&members, "]");
	if (json != NULL) {
		buf_text(&members, ",\"structuredContent\":");
		buf_append(&members, json, size);
	}
	if (is_error)
		buf_text(&members, ",\"isError\":true");
	if (members.failed == 0) {
		mcp_answer_members(call, &members);
		return;
	}
	buf_done(&members);
	mcp_answer_refusal(call, MCP_INTERNAL, "the answer is too large");
}

void mcp_answer_text(struct mcp_call *call, bool is_error, const char *text)
{
	mcp_answer_json(call, is_error, text, NULL, 0);
}

static const char *remedy_of(const struct err *err)
{
	if (err->kind == ERR_BUSY)
		return "Try again in a second.";
	if (err->kind == ERR_NOT_FOUND && strstr(err->text, "session") != NULL)
		return "list_sessions shows those there are; create_session makes one.";
	if (err->kind == ERR_BAD_REQUEST)
		return "The tool's inputSchema describes every argument.";
	return NULL;
}

void mcp_answer_err(struct mcp_call *call, const struct err *err)
{
	char text[sizeof(err->text) + 160];
	const char *remedy = remedy_of(err);

	(void)snprintf(text, sizeof(text), "%s: %s%s%s", err_kind_name(err->kind), err->text,
		       remedy != NULL ? "\n" : "", remedy != NULL ? remedy : "");
	mcp_answer_text(call, true, text);
}

/* ---- ops ---- */

struct waiting {
	struct mcp_call *call;
	mcp_op_done *done;
};

static void op_ended(void *user, const struct ask_result *result)
{
	struct waiting *waiting = user;
	struct mcp_call *call = waiting->call;
	mcp_op_done *done = waiting->done;

	free(waiting);
	call->op = NULL;
	done(call, result->bytes, result->size, result->err);
}

static void start_op(struct mcp_call *call, const struct op *op, struct decoded *take_decoded,
		     int *take_body, mcp_op_done *done)
{
	struct waiting *waiting = xnew(struct waiting);

	waiting->call = call;
	waiting->done = done;
	call->op = mcp_op_start(call->mcp, &call->caller, op, take_decoded, take_body, NULL,
				op_ended, waiting);
}

void mcp_call_op(struct mcp_call *call, const struct op *op, const char *const *pairs,
		 const void *raw, size_t raw_size, mcp_op_done *done)
{
	struct decoded decoded = {0};
	AUTO_CLOSE int body = -1;
	struct err err = {0};
	int r = mcp_op_decode(op, pairs, &decoded, &err);

	if (r == 0 && raw != NULL)
		r = io_sealed_memfd(raw, raw_size, &body, &err);
	if (r < 0) {
		decoded_done(&decoded);
		done(call, NULL, 0, &err);
		return;
	}
	start_op(call, op, &decoded, &body, done);
}

void mcp_call_op_args(struct mcp_call *call, const struct op *op, const void *args,
		      mcp_op_done *done)
{
	struct decoded decoded = {.args = xcalloc(1, op->args_size > 0 ? op->args_size : 1)};

	if (op->args_size > 0)
		memcpy(decoded.args, args, op->args_size);
	start_op(call, op, &decoded, NULL, done);
}

/* ---- tools/call ---- */

static bool wants_text(const struct mcp_view *view, const struct mcp_item *item)
{
	char name[PARAM_NAME_MAX];
	const struct op_param *param;

	if (strchr("-0123456789", item->value[0]) == NULL || item->key_size - 2 >= sizeof(name))
		return false;
	memcpy(name, item->key + 1, item->key_size - 2);
	name[item->key_size - 2] = '\0';
	param = param_find(&view->op, OP_IN_BODY, name);
	return param != NULL && (param->type == OP_TEXT || param->type == OP_BYTES);
}

/* Clients on a command line make a number of `code=1`: where a text is wanted, digits are one. Only
 * for our own tools: those of a dialect refuse what its system refuses. Appends the arguments with
 * quotes around them; false: there is nothing to change. */
static bool quote_numbers(const struct mcp_view *view, const char *json, size_t size,
			  struct buf *buf)
{
	const char *from = json;
	struct mcp_item item = {0};
	int r = 0;

	if (view->tool->op == NULL)
		return false;
	/* What is not JSON is the scan's to refuse; the message was checked, so it is. */
	while (r == 0 && mcp_next_item(json, size, &item)) {
		if (!wants_text(view, &item))
			continue;
		r = buf_append(buf, from, (size_t)(item.value - from));
		r = r < 0 ? r : buf_format(buf, "\"%.*s\"", (int)item.value_size, item.value);
		from = item.value + item.value_size;
	}
	return r == 0 && from > json && buf_append(buf, from, size - (size_t)(from - json)) == 0;
}

int mcp_call_decode(struct mcp_call *call, const struct mcp_view *view, const char *json,
		    size_t size, struct err *err)
{
	struct decode_source source = {0};
	struct buf quoted;
	int r = 0;

	scan_done(call->scan);
	free(call->scan);
	decoded_done(&call->decoded);
	call->scan = source.scan = xnew(struct scan);
	scan_init(call->scan, &view->op, MCP_MESSAGE_MAX);
	buf_init(&quoted, MCP_MESSAGE_MAX + KIB);
	if (json != NULL && quote_numbers(view, json, size, &quoted))
		r = scan_feed(call->scan, quoted.data, quoted.size, err);
	else if (json != NULL)
		r = scan_feed(call->scan, json, size, err);
	buf_done(&quoted);
	if (r == 0)
		r = scan_finish(call->scan, err);
	return r == 0 ? decode_args(&view->op, &source, &call->decoded, err) : r;
}

static void op_passed(struct mcp_call *call, const char *json, size_t size, const struct err *err)
{
	if (err != NULL)
		mcp_answer_err(call, err);
	else
		mcp_answer_json(call, false, NULL, size > 0 ? json : "{}", size > 0 ? size : 2);
}

void mcp_tools_call(struct mcp_request *request)
{
	const char *name = mcp_text(request->message.params, "name");
	const struct mcp_view *view = name != NULL ? mcp_view_find(request->mcp, name) : NULL;
	const char *json = request->message.arguments;
	size_t size = request->message.arguments_size;
	struct mcp_call *call;
	struct err err = {0};
	int r;

	if (name == NULL) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "name: is required, a text");
		return;
	}
	if (view == NULL) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "Unknown tool: %.64s", name);
		return;
	}
	if (json != NULL && json[0] != '{') {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "arguments: must be an object");
		return;
	}
	if (mcp_extra != NULL && mcp_extra->call(request, name))
		return;
	call = call_new(request, view);
	r = mcp_call_decode(call, view, json, size, &err);
	/* From here on the arguments are where the scan has put them. */
	request->message.arguments = NULL;
	buf_done(&request->bytes);
	if (r < 0)
		mcp_answer_err(call, &err);
	else if (view->tool->call != NULL)
		view->tool->call(call);
	else
		mcp_call_op_args(call, view->tool->op, call->decoded.args, op_passed);
}

/* The handler still answers, and nobody hears it: its op ends first, a run by being cancelled. */
void mcp_call_cancel(struct mcp_call *call)
{
	void (*cancel)(struct mcp_call * call) = STEAL(call->cancel);

	if (call->is_cancelled)
		return;
	call->is_cancelled = true;
	if (call->request != NULL)
		call->request->call = NULL;
	call->request = NULL;
	if (call->op != NULL)
		mcp_op_cancel(call->op);
	if (cancel != NULL)
		cancel(call);
}

void mcp_calls_tick(struct mcp *mcp, uint64_t now)
{
	struct mcp_call *call = LIST_FIRST(&mcp->calls);

	while (call != NULL) {
		struct mcp_call *next = LIST_NEXT(call, entry);

		if (call->request != NULL && call->task == NULL && mcp_has_tasks(call->request) &&
		    now - call->begun_ns > TASK_AFTER_NS)
			(void)mcp_task_make(call);
		call = next;
	}
}
