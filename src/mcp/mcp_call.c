// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

#define TASK_AFTER_NS 5000000000U /* a longer call becomes a task, if the client supports tasks */

/* ---- making and freeing calls ---- */

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
	AUTO_BUF struct buf error = {.max = KIB};

	call_free(call);
	if (task == NULL) {
		if (request != NULL)
			mcp_refuse(request, 0, code, NULL, "%s", message);
		return;
	}
	json_put(&error, "{'code':%d,'message':%s}", (int)code, message);
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
	AUTO_BUF struct buf members = {.max = MCP_ANSWER_MAX};

	/* Ops end their answers with a newline. */
	while (json != NULL && size > 0 && json[size - 1] == '\n')
		size--;
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
	mcp_answer_refusal(call, MCP_INTERNAL, "the answer is too large");
}

void mcp_answer_text(struct mcp_call *call, bool is_error, const char *text)
{
	mcp_answer_json(call, is_error, text, NULL, 0);
}

static const char *remedy_of(const struct err *err)
{
	if (err_is_busy(err))
		return "Try again in a second.";
	if (err->kind == ERR_CONFLICT && err->num == ENOTRECOVERABLE)
		return "close_session removes it; create_session makes another one.";
	if (err->kind == ERR_CONFLICT && err->num == EBADMSG)
		return "The session sleeps and keeps its states: rollback goes back to another "
		       "one, list_checkpoints lists them.";
	if (err->kind == ERR_NOT_FOUND && err->num == ESRCH)
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
	done(call, result);
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
		done(call, &(struct ask_result){.err = &err});
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

static bool wants_text(const struct mcp_view *view, const struct json_member *item)
{
	char name[PARAM_NAME_MAX];
	const struct op_param *param;

	if (strchr("-0123456789", item->value[0]) == NULL || item->name_size - 2 >= sizeof(name))
		return false;
	memcpy(name, item->name + 1, item->name_size - 2);
	name[item->name_size - 2] = '\0';
	param = param_find(&view->op, OP_IN_BODY, name);
	return param != NULL && (param->type == OP_TEXT || param->type == OP_BYTES);
}

/* Command-line clients turn `code=1` into a number: where the argument is a text, digits become
 * one. Only for our own tools: those of a dialect refuse what its system refuses. Appends the
 * arguments with quotes around such numbers; false: there is nothing to change. */
static bool quote_numbers(const struct mcp_view *view, const char *json, size_t size,
			  struct buf *buf)
{
	const char *from = json;
	struct json_member item = {0};
	int r = 0;

	if (view->tool->op == NULL)
		return false;
	/* The whole message was checked before, so this is valid JSON. */
	while (r == 0 && json_next(json, size, &item)) {
		if (!wants_text(view, &item))
			continue;
		r = buf_append(buf, from, (size_t)(item.value - from));
		r = r < 0 ? r : buf_format(buf, "\"%.*s\"", (int)item.size, item.value);
		from = item.value + item.size;
	}
	return r == 0 && from > json && buf_append(buf, from, size - (size_t)(from - json)) == 0;
}

/* Decodes the arguments by the rows of `view`; `call` owns what they point to. */
static int mcp_call_decode(struct mcp_call *call, const struct mcp_view *view, const char *json,
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

void mcp_op_passed(struct mcp_call *call, const struct ask_result *result)
{
	bool has_bytes = result->size > 0;

	if (result->err != NULL)
		mcp_answer_err(call, result->err);
	else if (call->view->tool->done != NULL)
		call->view->tool->done(call, result);
	else
		mcp_answer_json(call, false, NULL, has_bytes ? result->bytes : "{}",
				has_bytes ? result->size : 2);
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
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL, "name: a text is required");
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
	/* The scan has copied the arguments; the bytes are no longer needed. */
	request->message.arguments = NULL;
	buf_done(&request->bytes);
	if (r < 0)
		mcp_answer_err(call, &err);
	else if (view->tool->call != NULL)
		view->tool->call(call);
	else
		mcp_call_op_args(call, view->tool->op, call->decoded.args, mcp_op_passed);
}

/* The handler still answers, but nobody hears it. Its op is cancelled first, a run included. */
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
