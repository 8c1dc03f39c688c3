// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "fixtures.h"
#include "session/engine.h"

#define SECONDS_MAX 300

struct task_args {
	const char *name, *label, *filename;
	uint64_t seconds;
};

static const struct op_param params[] = {
	{OP_PARAM(struct task_args, name, .name = "name", .type = OP_TEXT,
		  .help = "whom to greet")},
	{OP_PARAM(struct task_args, label, .name = "label", .type = OP_TEXT, .help = "any text")},
	{OP_PARAM(struct task_args, filename, .name = "filename", .type = OP_TEXT,
		  .help = "what to delete")},
	{OP_PARAM(struct task_args, seconds, .name = "seconds", .type = OP_COUNT,
		  .max = SECONDS_MAX, .help = "how long to work")},
};

/* A call that is over when its time has come. */
struct job {
	uv_timer_t timer;
	struct mcp_call *call; /* NULL: it has its answer */
	char text[300];
	enum job_end {
		JOB_TEXT,
		JOB_ERROR,
		JOB_PANIC
	} end;
};

static void job_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void job_over(struct job *job)
{
	struct mcp_call *call = STEAL(job->call);
	enum job_end end = job->end;
	char text[sizeof(job->text)];

	(void)snprintf(text, sizeof(text), "%s", job->text);
	uv_close((uv_handle_t *)&job->timer, job_closed);
	if (end == JOB_PANIC)
		mcp_answer_refusal(call, MCP_INTERNAL, "this job always breaks");
	else
		mcp_answer_text(call, end == JOB_ERROR, text);
}

static void job_due(uv_timer_t *timer)
{
	job_over(timer->data);
}

static void job_cancel(struct mcp_call *call)
{
	job_over(mcp_call_state(call));
}

static void start_job(struct mcp_call *call, uint64_t ms, enum job_end end, const char *text)
{
	struct job *job = xnew(struct job);

	job->call = call;
	job->end = end;
	(void)snprintf(job->text, sizeof(job->text), "%s", text);
	(void)uv_timer_init(mcp_call_engine(call)->loop, &job->timer);
	job->timer.data = job;
	mcp_call_set_state(call, job);
	mcp_call_on_cancel(call, job_cancel);
	(void)uv_timer_start(&job->timer, job_due, ms, 0);
}

static void call_greet(struct mcp_call *call)
{
	const struct task_args *args = mcp_call_args(call);
	char text[200];

	(void)snprintf(text, sizeof(text), "Hello, %.150s!", args->name != NULL ? args->name : "");
	mcp_answer_text(call, false, text);
}

static void make_task(struct mcp_call *call)
{
	if (call->request != NULL && mcp_has_tasks(call->request))
		(void)mcp_task_make(call);
}

static void call_slow(struct mcp_call *call)
{
	const struct task_args *args = mcp_call_args(call);
	uint64_t ms = args->seconds * 1000;

	if (ms > 0)
		make_task(call);
	start_job(call, ms, JOB_TEXT, "Computed");
}

static void call_failing(struct mcp_call *call)
{
	make_task(call);
	start_job(call, 500, JOB_ERROR, "This job always fails");
}

static void call_breaking(struct mcp_call *call)
{
	make_task(call);
	start_job(call, 200, JOB_PANIC, "");
}

/* ---- those that ask on their way ---- */

static void inputs_given(struct mcp_task *task)
{
	struct mcp_call *call = task->call;

	if (call != NULL)
		mcp_answer_text(call, false, "Done as you said");
}

static void asking_cancelled(struct mcp_call *call)
{
	mcp_answer_text(call, true, "cancelled");
}

static void ask(struct mcp_call *call, int count)
{
	json_t *inputs = json_object();
	struct mcp_task *task;
	char key[ID_SIZE];

	make_task(call);
	task = call->task;
	if (task == NULL) {
		json_decref(inputs);
		mcp_answer_text(call, true, "too many tasks");
		return;
	}
	for (int i = 0; i < count; i++) {
		id_new("in_", key);
		(void)json_object_set_new(inputs, key,
					  json_pack("{s:s,s:{s:s,s:s,s:{s:s,s:{s:{s:s}},s:[s]}}}",
						    "method", "elicitation/create", "params",
						    "mode", "form", "message", "Are you sure?",
						    "requestedSchema", "type", "object",
						    "properties", "confirm", "type", "boolean",
						    "required", "confirm"));
	}
	mcp_call_on_cancel(call, asking_cancelled);
	json_decref(task->inputs);
	json_decref(task->answers);
	task->inputs = inputs;
	task->answers = json_object();
	task->answered = inputs_given;
	task->status = MCP_TASK_INPUT;
	task->updated_ms = wall_ms();
	task->touched_ns = now_ns();
}

static void call_confirm(struct mcp_call *call)
{
	ask(call, 1);
}

static void call_multi(struct mcp_call *call)
{
	ask(call, 2);
}

/* The answer was gathered before: by the result of the first call. */
static void call_with_task(struct mcp_call *call)
{
	const json_t *said =
		json_object_get(mcp_fixture_answer(call->request, "user_name"), "content");
	const char *user = mcp_text(said, "name");
	char text[200];

	(void)snprintf(text, sizeof(text), "Hello, %.150s!", user != NULL ? user : "");
	make_task(call);
	start_job(call, 300, JOB_TEXT, text);
}

#define ROW(name_, help_, call_)                                                                   \
	{                                                                                          \
		.name = (name_), .help = (help_), .params = params,                                \
		.param_count = ARRAY_LEN(params), .args_size = sizeof(struct task_args),           \
		.answer = "", .call = (call_)                                                      \
	}

static const struct mcp_tool tools[] = {
	ROW("greet", "Greets", call_greet),
	ROW("slow_compute", "Takes its time", call_slow),
	ROW("failing_job", "Fails as a task", call_failing),
	ROW("protocol_error_job", "Breaks as a task", call_breaking),
	ROW("confirm_delete", "Asks before it deletes", call_confirm),
	ROW("multi_input", "Asks two things", call_multi),
	ROW("test_tool_with_task", "Asks, then works as a task", call_with_task),
};

const struct mcp_tool *mcp_fixture_task_tool(size_t index)
{
	return index < ARRAY_LEN(tools) ? &tools[index] : NULL;
}

bool mcp_fixture_task_call(struct mcp_request *request, const char *tool)
{
	static const char *const required[] = {"failing_job", "protocol_error_job",
					       "confirm_delete", "multi_input",
					       "test_tool_with_task"};
	bool needs_task = false;

	for (size_t i = 0; i < ARRAY_LEN(required); i++)
		needs_task |= strcmp(required[i], tool) == 0;
	if (needs_task && !mcp_has_tasks(request)) {
		mcp_refuse(request, 400, MCP_NO_CAPABILITY,
			   "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_TASKS "\":{}}}}",
			   "Missing required client capability");
		return true;
	}
	if (strcmp(tool, "test_tool_with_task") == 0 &&
	    mcp_fixture_answer(request, "user_name") == NULL) {
		mcp_fixture_input(request);
		return true;
	}
	return false;
}
