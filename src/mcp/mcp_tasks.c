// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "mcp/mcp_inside.h"

#define TTL_MS 600000U /* after its last change */
#define POLL_MS 500U
#define NS_PER_MS 1000000U
#define KEPT_MAX (256U << 20) /* bytes of all results */
#define TASKS_SHARE 4         /* a quarter of both is nobody's too much */

static const char *const names[] = {
	[MCP_TASK_WORKING] = "working",     [MCP_TASK_INPUT] = "input_required",
	[MCP_TASK_COMPLETED] = "completed", [MCP_TASK_FAILED] = "failed",
	[MCP_TASK_CANCELLED] = "cancelled",
};

static bool is_over(const struct mcp_task *task)
{
	return task->status >= MCP_TASK_COMPLETED;
}

void mcp_task_free(struct mcp_task *task)
{
	struct mcp_call *call = STEAL(task->call);

	TAILQ_REMOVE(&task->mcp->tasks, task, entry);
	task->mcp->task_count--;
	if (call != NULL) {
		call->task = NULL;
		mcp_call_cancel(call);
	}
	json_decref(task->inputs);
	json_decref(task->answers);
	buf_done(&task->result);
	free(task->token);
	free(task);
}

/* Has this token so much here that others would lose theirs for want of room? */
static bool is_greedy(const struct mcp *mcp, const char *token)
{
	const struct mcp_task *task = NULL;
	size_t count = 0, kept = 0;

	TAILQ_FOREACH(task, &mcp->tasks, entry) {
		if (strcmp(task->token, token) == 0) {
			count++;
			kept += task->result.size;
		}
	}
	return count > MCP_TASKS_MAX / TASKS_SHARE || kept > KEPT_MAX / TASKS_SHARE;
}

/* Those that are over go, the oldest first, while there are more than this many or too much is
 * kept. */
static void drop(struct mcp *mcp, size_t count_max, size_t *kept, bool is_greedy_only)
{
	struct mcp_task *task = TAILQ_FIRST(&mcp->tasks);

	while (task != NULL && (mcp->task_count > count_max || *kept > KEPT_MAX)) {
		struct mcp_task *next = TAILQ_NEXT(task, entry);

		if (is_over(task) && (task->is_greedy || !is_greedy_only)) {
			*kept -= task->result.size;
			mcp_task_free(task);
		}
		task = next;
	}
}

/* Of tokens with more than their share first, then of anybody. False: that was not enough. */
static bool make_room(struct mcp *mcp, size_t count_max)
{
	struct mcp_task *task = NULL;
	size_t kept = 0;

	TAILQ_FOREACH(task, &mcp->tasks, entry)
		kept += task->result.size;
	if (mcp->task_count > count_max || kept > KEPT_MAX) {
		TAILQ_FOREACH(task, &mcp->tasks, entry)
			task->is_greedy = is_greedy(mcp, task->token);
		drop(mcp, count_max, &kept, true);
		drop(mcp, count_max, &kept, false);
	}
	return mcp->task_count <= count_max;
}

static void touch(struct mcp_task *task, enum mcp_task_status status)
{
	task->status = status;
	task->updated_ms = wall_ms();
	task->touched_ns = now_ns();
}

/* ---- on the wire ---- */

static void put_time(struct buf *buf, const char *name, uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm parts = {0};
	char text[32];

	(void)gmtime_r(&seconds, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	(void)buf_format(buf, ",\"%s\":\"%s.%03uZ\"", name, text, (unsigned)(ms % 1000));
}

static void put_task(const struct mcp_task *task, struct buf *buf)
{
	(void)buf_format(buf, "\"taskId\":\"%s\",\"status\":\"%s\"", task->id, names[task->status]);
	put_time(buf, "createdAt", task->created_ms);
	put_time(buf, "lastUpdatedAt", task->updated_ms);
	(void)buf_format(buf, ",\"ttlMs\":%u,\"pollIntervalMs\":%u", TTL_MS, POLL_MS);
}

struct mcp_task *mcp_task_make(struct mcp_call *call)
{
	struct mcp *mcp = call->mcp;
	struct mcp_request *request = call->request;
	struct mcp_task *task;
	struct buf members;

	if (!make_room(mcp, MCP_TASKS_MAX - 1))
		return NULL;
	task = xnew(struct mcp_task);
	task->mcp = mcp;
	id_new("task_", task->id);
	task->token = xstrdup(call->caller.name);
	task->created_ms = wall_ms();
	touch(task, MCP_TASK_WORKING);
	buf_init(&task->result, 1);
	task->call = call;
	call->task = task;
	call->request = NULL;
	request->call = NULL;
	TAILQ_INSERT_TAIL(&mcp->tasks, task, entry);
	mcp->task_count++;
	mcp_watch(mcp);
	buf_init(&members, 4 * KIB);
	put_task(task, &members);
	mcp_reply_buf(request, "task", &members);
	return task;
}

void mcp_task_finish(struct mcp_task *task, enum mcp_task_status status, struct buf *take_result)
{
	task->call = NULL;
	/* What was cancelled stays so, whatever its call says afterwards. */
	if (is_over(task)) {
		buf_done(take_result);
		return;
	}
	touch(task, status);
	buf_done(&task->result);
	task->result = *take_result;
	buf_init(take_result, 0);
	json_decref(task->inputs);
	task->inputs = NULL;
	(void)make_room(task->mcp, MCP_TASKS_MAX);
}

void mcp_task_ask(struct mcp_task *task, json_t *take_inputs,
		  void (*answered)(struct mcp_task *task))
{
	json_decref(task->inputs);
	json_decref(task->answers);
	task->inputs = take_inputs;
	task->answers = json_object();
	task->answered = answered;
	touch(task, MCP_TASK_INPUT);
}

/* ---- what clients ask ---- */

/* NULL: it was answered. */
static struct mcp_task *find(struct mcp_request *request)
{
	const char *id = mcp_text(request->message.params, "taskId");
	struct mcp_task *task = NULL;

	if (!mcp_has_tasks(request)) {
		mcp_refuse(request, 400, MCP_NO_CAPABILITY,
			   "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_TASKS "\":{}}}}",
			   "Missing required client capability");
		return NULL;
	}
	TAILQ_FOREACH(task, &request->mcp->tasks, entry) {
		if (id != NULL && strcmp(task->id, id) == 0 &&
		    strcmp(task->token, request->caller.name) == 0)
			return task;
	}
	mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
		   "taskId: there is no such task (any more)");
	return NULL;
}

void mcp_tasks_get(struct mcp_request *request)
{
	struct mcp_task *task = find(request);
	AUTO_FREE char *inputs = NULL;
	struct buf members;

	if (task == NULL)
		return;
	buf_init(&members, MCP_ANSWER_MAX);
	put_task(task, &members);
	if (task->status == MCP_TASK_COMPLETED || task->status == MCP_TASK_FAILED) {
		bool is_failed = task->status == MCP_TASK_FAILED;

		(void)buf_text(&members, is_failed ? ",\"error\":" : ",\"result\":{");
		(void)buf_append(&members, task->result.data, task->result.size);
		(void)buf_text(&members, is_failed ? "" : "}");
	}
	if (task->status == MCP_TASK_INPUT)
		inputs = json_dumps(task->inputs, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (inputs != NULL)
		(void)buf_format(&members, ",\"inputRequests\":%s", inputs);
	mcp_reply_buf(request, NULL, &members);
}

void mcp_tasks_update(struct mcp_request *request)
{
	struct mcp_task *task = find(request);
	json_t *said = NULL, *value = NULL;
	const char *key;

	if (task == NULL)
		return;
	said = json_object_get(request->message.params, "inputResponses");
	if (!json_is_object(said)) {
		mcp_refuse(request, 0, MCP_INVALID_PARAMS, NULL,
			   "inputResponses: is required, an object");
		return;
	}
	json_object_foreach(said, key, value) {
		if (task->status != MCP_TASK_INPUT || json_object_get(task->inputs, key) == NULL)
			continue;
		(void)json_object_set(task->answers, key, value);
		(void)json_object_del(task->inputs, key);
	}
	mcp_reply(request, NULL, "", 0);
	if (task->status == MCP_TASK_INPUT && json_object_size(task->inputs) == 0) {
		touch(task, MCP_TASK_WORKING);
		task->answered(task);
	}
}

void mcp_tasks_cancel(struct mcp_request *request)
{
	struct mcp_task *task = find(request);

	if (task == NULL)
		return;
	if (!is_over(task)) {
		struct mcp_call *call = STEAL(task->call);

		touch(task, MCP_TASK_CANCELLED);
		if (call != NULL) {
			call->task = NULL;
			mcp_call_cancel(call);
		}
	}
	mcp_reply(request, NULL, "", 0);
}

void mcp_tasks_tick(struct mcp *mcp, uint64_t now)
{
	struct mcp_task *task = TAILQ_FIRST(&mcp->tasks);

	while (task != NULL) {
		struct mcp_task *next = TAILQ_NEXT(task, entry);

		/* One that works is as long as its run may be. */
		if (task->status != MCP_TASK_WORKING &&
		    now - task->touched_ns > (uint64_t)TTL_MS * NS_PER_MS)
			mcp_task_free(task);
		task = next;
	}
}
