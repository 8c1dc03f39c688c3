// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "mcp/mcp_inside.h"

#define TTL_MS 600000U /* how long a task is kept after its last change */
#define POLL_MS 500U
#define NS_PER_MS 1000000U
#define KEPT_MAX (256U << 20) /* bytes of all results */
#define TASKS_SHARE 4         /* a token with more than a quarter of either is greedy */

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

/* Does this token have so much here that others would lose theirs for lack of room? */
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

/* Drops finished tasks, oldest first, while there are more than count_max or their results are too
 * large. */
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

/* Drops tasks of greedy tokens first, then of any token. False: that was not enough. */
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
	char text[TIME_TEXT_SIZE];

	time_text(ms, text);
	(void)buf_format(buf, ",\"%s\":\"%s\"", name, text);
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
	AUTO_BUF struct buf members = {.max = 4 * KIB};

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
	put_task(task, &members);
	mcp_reply_buf(request, "task", &members);
	return task;
}

void mcp_task_finish(struct mcp_task *task, enum mcp_task_status status, struct buf *take_result)
{
	task->call = NULL;
	/* A cancelled task stays cancelled, whatever its call answers afterwards. */
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

/* ---- tasks/get, tasks/update, tasks/cancel ---- */

/* The task that the request names. NULL: refused, and answered. */
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
		   "taskId: there is no such task, or it has expired");
	return NULL;
}

void mcp_tasks_get(struct mcp_request *request)
{
	struct mcp_task *task = find(request);
	AUTO_FREE char *inputs = NULL;
	AUTO_BUF struct buf members = {.max = MCP_ANSWER_MAX};

	if (task == NULL)
		return;
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
			   "inputResponses: an object is required");
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

		/* A working task lives as long as its run does. */
		if (task->status != MCP_TASK_WORKING &&
		    now - task->touched_ns > (uint64_t)TTL_MS * NS_PER_MS)
			mcp_task_free(task);
		task = next;
	}
}
