// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include "api/decode.h"
#include "base/c.h"
#include "base/json.h"
#include "door/agentrail/agentrail.h"
#include "op/op_session.h"
#include "session/engine.h"

#define SLACK_MS 3000 /* time for the tool to end its processes, before the run itself is ended */
#define SESSION_OURS "ses_"
#define TMP "/workspace/.deep-research/tmp"

extern const char agentrail_tools_py[];
extern const size_t agentrail_tools_py_size;

struct agentrail_job {
	struct agentrail_ask ask;
	struct ask *running; /* borrowed; NULL: between two asks */
	struct op_create_args create;
	struct run_request run;
	struct buf request; /* the _args of the tool */
	struct buf call;    /* the code that is shown for a tool that takes no code */
	char session[ID_SIZE];
	char name[SESSION_NAME_MAX + 1];
	char script[96];
	uint32_t retry_after_s;
	bool is_made; /* this call made the session, and no client knows its id yet */
	bool is_cancelled;
};

/* ---- paths ---- */

/* Normalises a path that is /workspace or below it. -EINVAL: it is not. */
static int agentrail_workspace_path(const char *path, char *ret_path, size_t size)
{
	static const char top[] = "/workspace";
	size_t at = 0;

	if (path[0] != '/' || strlen(path) + 1 >= size)
		return -EINVAL;
	ret_path[0] = '\0';
	while (*path != '\0') {
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 2 && strncmp(path, "..", 2) == 0) {
			ret_path[at] = '\0';
			at = at > 0 ? (size_t)(strrchr(ret_path, '/') - ret_path) : 0;
		} else if (n > 0 && (n != 1 || path[0] != '.')) {
			ret_path[at++] = '/';
			memcpy(ret_path + at, path, n);
			at += n;
		}
		path += n;
	}
	ret_path[at] = '\0';
	if (at < strlen(top) || strncmp(ret_path, top, strlen(top)) != 0)
		return -EINVAL;
	return at == strlen(top) || ret_path[strlen(top)] == '/' ? 0 : -EINVAL;
}

static int check_paths(const struct agentrail_args *args, char *ret_folder, size_t size,
		       struct err *err)
{
	const char *folder =
		args->working_directory != NULL ? args->working_directory : "/workspace";
	const char *const *expected = args->expected_output_files;
	char path[4096];

	if (agentrail_workspace_path(folder, ret_folder, size) < 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "working_directory must start with /workspace");
	for (; expected != NULL && *expected != NULL; expected++) {
		if (agentrail_workspace_path(*expected, path, sizeof(path)) < 0)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "expected_output_files must start with /workspace");
	}
	return 0;
}

/* ---- the request to the tool ---- */

/* run-<epoch ms>-<6 of base36>.py */
static void name_script(char *path, size_t size)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	uint8_t random[6];
	char tail[7] = "";

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort();
	for (size_t i = 0; i < sizeof(random); i++)
		tail[i] = digits[random[i] % 36];
	(void)snprintf(path, size, TMP "/run-%llu-%s.py", (unsigned long long)wall_ms(), tail);
}

static void put_text(struct buf *buf, const char *name, const char *text)
{
	if (text != NULL)
		json_put(buf, ",%s:%s", name, text);
}

/* An argument that was not given becomes an empty string. */
static void put_bytes(struct buf *buf, const char *name, const struct run_bytes *bytes)
{
	json_put(buf, ",%s:", name);
	json_put_string(buf, bytes->data, (size_t)bytes->size);
}

static int put_request(struct agentrail_job *job, const char *folder, uint64_t timeout_ms)
{
	const struct agentrail_args *args = job->ask.args;
	struct buf *buf = &job->request;
	const char *const texts[][2] = {
		{"id", job->script + strlen(TMP) + 1},
		{"script", job->script},
		{"folder", folder},
		{"file_path", args->file_path},
		{"path", args->path},
		{"pattern", args->pattern},
		{"glob", args->glob},
		{"type", args->type},
		{"output_mode", args->output_mode},
	};

	json_put(buf,
		 "{'tool':%s,'timeout':%llu,'offset':%llu,'limit':%llu,'replace_all':%i,"
		 "'multiline':%i,'case_insensitive':%i",
		 job->ask.tool->name, (unsigned long long)timeout_ms,
		 (unsigned long long)args->offset, (unsigned long long)args->limit,
		 args->replace_all == OP_YES, args->multiline == OP_YES,
		 args->case_insensitive == OP_YES);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		put_text(buf, texts[i][0], texts[i][1]);
	put_bytes(buf, "content", &args->content);
	put_bytes(buf, "old_string", &args->old_string);
	put_bytes(buf, "new_string", &args->new_string);
	return json_put(buf, "}");
}

/* Writes the call of a tool that takes no code: Read(file_path="/workspace/a.txt"). */
static int put_call(struct agentrail_job *job)
{
	const struct agentrail_tool *tool = job->ask.tool;
	const char *comma = "";
	int r = buf_format(&job->call, "%s(", tool->name);

	for (size_t i = 0; r == 0 && i < tool->param_count; i++) {
		const struct op_param *param = &tool->params[i];
		const void *field = (const char *)job->ask.args + param->offset;
		const char *text = param->type == OP_TEXT ? *(const char *const *)field : NULL;
		const struct run_bytes *bytes = param->type == OP_BYTES ? field : NULL;

		if ((text == NULL && bytes == NULL) || strcmp(param->name, "session_id") == 0)
			continue;
		r = buf_format(&job->call, "%s%s=", comma, param->name);
		if (r == 0 && text != NULL)
			r = json_put_text(&job->call, text);
		else if (r == 0)
			r = json_put_string(&job->call, bytes->data, (size_t)bytes->size);
		comma = ", ";
	}
	return r < 0 ? r : buf_text(&job->call, ")");
}

/* Logs and events show the code that the client sent; our own program does the work. */
static int set_code(struct agentrail_job *job)
{
	const struct agentrail_args *args = job->ask.args;
	int r = 0;

	if (args->code.data != NULL) {
		job->run.code = args->code;
	} else if (args->command.data != NULL) {
		job->run.command = args->command;
	} else {
		r = put_call(job);
		job->run.code = (struct run_bytes){.data = job->call.data, .size = job->call.size};
	}
	job->run.tool = (struct run_bytes){
		.data = agentrail_tools_py,
		.size = agentrail_tools_py_size,
	};
	return r;
}

/* The timeout that was asked for, within what the policy allows. */
static uint64_t choose_timeout(const struct agentrail_ask *ask)
{
	struct err err = {0};
	const struct policy *policy = config_policy(ask->engine->config, AGENTRAIL_POLICY, &err);
	uint64_t asked = ask->tool->timeout_ms > 0 ? ask->tool->timeout_ms : ask->args->timeout;
	uint64_t most = policy != NULL && policy->timeout_max_ms > SLACK_MS
				? policy->timeout_max_ms - SLACK_MS
				: SLACK_MS;

	return asked < most ? asked : most;
}

/* ---- the steps of a job ---- */

static void job_free(struct agentrail_job *job)
{
	buf_done(&job->request);
	buf_done(&job->call);
	free(job);
}

static void end(struct agentrail_job *job, const struct agentrail_answer *answer)
{
	job->ask.done(job->ask.user, answer);
	job_free(job);
}

static struct ask *start_ask(struct agentrail_job *job, const struct op *op, const void *args,
			     const struct ask_calls *calls)
{
	const struct ask_settings settings = {
		.engine = job->ask.engine,
		.caller = job->ask.caller,
		.op = op,
		.args = args,
		.body = -1,
		.calls = calls,
		.user = job,
	};

	return ask_start(&settings);
}

/* Ends the session that this call made: otherwise a client that retries would fill its token's
 * quota with sessions whose ids nobody knows. */
static void drop_session(struct agentrail_job *job)
{
	static const struct ask_calls calls = {0};
	const struct decode_pair id = {"id", job->session};
	const struct decode_source source = {.path = &id, .path_count = 1};
	struct decoded decoded = {0};
	struct err err = {0};

	if (decode_args(&op_session_delete, &source, &decoded, &err) == 0)
		ask_forget(start_ask(job, &op_session_delete, decoded.args, &calls));
	decoded_done(&decoded);
	job->session[0] = '\0';
}

static void fail(struct agentrail_job *job, const struct err *err)
{
	const struct agentrail_answer answer = {
		.err = err,
		.retry_after_s = job->retry_after_s,
		.session = job->session,
	};

	if (job->is_made)
		drop_session(job);
	end(job, &answer);
}

static void abort_job(struct agentrail_job *job)
{
	struct err err = {0};

	(void)err_set(&err, ERR_CONFLICT, ECANCELED, "Sandbox command aborted");
	fail(job, &err);
}

static void answer(struct agentrail_job *job, const struct ending *ending)
{
	AUTO_BUF struct buf text = {.max = AGENTRAIL_ANSWER_MAX};
	AUTO_BUF struct buf details = {.max = AGENTRAIL_ANSWER_MAX};
	struct agentrail_answer told = {
		.session = job->session, .text = &text, .details = &details};
	struct err err = {0};
	int r;

	r = agentrail_put(job->ask.tool, job->ask.args, job->script, ending, &text, &details,
			  &told.is_refused);
	if (r < 0) {
		(void)err_set(&err, ERR_INTERNAL, -r, "the tool returned no valid answer");
		told.err = &err;
	}
	end(job, &told);
}

void agentrail_ran(struct agentrail_job *job, const struct ask_result *result)
{
	struct ending ending;
	struct err err = {0};

	job->running = NULL;
	if (result->err != NULL) {
		if (job->is_cancelled)
			abort_job(job);
		else
			fail(job, result->err);
		return;
	}
	if (!ending_read(result->value, &ending)) {
		(void)err_set(&err, ERR_INTERNAL, EBADMSG, "the run has no result");
		fail(job, &err);
		return;
	}
	if (job->is_cancelled || ending_is(&ending, "cancelled")) {
		abort_job(job);
	} else if (ending_is(&ending, "backend") || ending_is(&ending, "denied")) {
		(void)err_set(&err, ERR_INTERNAL, EIO, "%.*s", (int)ending.message.size,
			      ending.message.text);
		fail(job, &err);
	} else {
		answer(job, &ending);
	}
}

static void run_done(void *user, const struct ask_result *result)
{
	struct agentrail_job *job = user;

	job->retry_after_s = result->retry_after_s;
	agentrail_ran(job, result);
}

static void run_tool(struct agentrail_job *job)
{
	static const struct ask_calls calls = {.done = run_done};

	job->run.session = job->session;
	if (job->ask.run != NULL)
		job->ask.run(job->ask.user, &job->run);
	else
		job->running = start_ask(job, &op_session_run, &job->run, &calls);
}

static void created(void *user, const struct ask_result *result)
{
	struct agentrail_job *job = user;

	job->running = NULL;
	job->retry_after_s = result->retry_after_s;
	if (result->err != NULL) {
		fail(job, result->err);
		return;
	}
	(void)snprintf(job->session, sizeof(job->session), "%s", result->session);
	job->is_made = job->name[0] == '\0';
	if (job->is_cancelled)
		abort_job(job);
	else
		run_tool(job);
}

/* A client's own name stands for one session as long as that lives. A call that comes while it is
 * being made waits for the same session. */
static void find_session(struct agentrail_job *job)
{
	static const struct ask_calls calls = {.done = created};
	const struct config *config = job->ask.engine->config;
	const struct agentrail_config *own = config_part(config, &agentrail_config);

	job->create = (struct op_create_args){
		.policy = AGENTRAIL_POLICY,
		.name = job->name[0] != '\0' ? job->name : NULL,
		.idle_ms = own->idle_ms < config->session_idle_ms ? own->idle_ms
								  : config->session_idle_ms,
		.reuse = OP_YES,
	};
	job->running = start_ask(job, &op_session_create, &job->create, &calls);
}

static int take_session(struct agentrail_job *job, struct err *err)
{
	const char *asked = job->ask.session;
	int n;

	if (asked == NULL || asked[0] == '\0')
		return 0;
	if (strncmp(asked, SESSION_OURS, strlen(SESSION_OURS)) == 0 &&
	    strlen(asked) < sizeof(job->session)) {
		(void)snprintf(job->session, sizeof(job->session), "%s", asked);
		return 0;
	}
	n = snprintf(job->name, sizeof(job->name), "sandbox-%s", asked);
	if ((size_t)n >= sizeof(job->name))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "session_id: is too long");
	return 0;
}

int agentrail_new(const struct agentrail_ask *ask, struct agentrail_job **ret_job, struct err *err)
{
	struct agentrail_job *job = xnew(struct agentrail_job);
	uint64_t timeout_ms = choose_timeout(ask);
	char folder[4096];
	int r;

	job->ask = *ask;
	buf_init(&job->request, AGENTRAIL_ANSWER_MAX);
	buf_init(&job->call, AGENTRAIL_ANSWER_MAX);
	name_script(job->script, sizeof(job->script));
	r = check_paths(ask->args, folder, sizeof(folder), err);
	if (r == 0)
		r = take_session(job, err);
	if (r == 0) {
		r = put_request(job, folder, timeout_ms);
		if (r == 0)
			r = set_code(job);
		if (r < 0)
			r = err_set(err, ERR_TOO_LARGE, -r, "the arguments are too large");
	}
	if (r < 0) {
		job_free(job);
		return r;
	}
	job->run.args = (struct run_bytes){.data = job->request.data, .size = job->request.size};
	job->run.limits.timeout_ms = timeout_ms + SLACK_MS;
	*ret_job = job;
	return 0;
}

void agentrail_go(struct agentrail_job *job)
{
	if (job->session[0] != '\0')
		run_tool(job);
	else
		find_session(job);
}

void agentrail_cancel(struct agentrail_job *job)
{
	job->is_cancelled = true;
	if (job->running != NULL)
		ask_cancel(job->running);
}
