// SPDX-License-Identifier: Apache-2.0
#include "op/op_run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/c.h"
#include "base/json.h"
#include "obs/metrics.h"
#include "op/announce.h"
#include "op/op_session.h"
#include "op/op_text.h"
#include "op/run_log.h"
#include "op/run_row.h"
#include "op/saved.h"
#include "op/warm.h"
#include "session/result.h"
#include "session/verdict.h"

#define TRUST_DEFAULT "local" /* callers without a token count as one person */

#define SAVED_HEAD_MAX (16U << 10)
#define LOG_HEAD_MAX (16U << 10)
#define RESULT_MAX (256UL << 20)

/* ---- what a policy grants ---- */

int op_check_backend(const struct policy *policy, const char *asked, struct err *err)
{
	bool is_pinned = strcmp(policy->backend, "auto") != 0;

	if (asked == NULL || strcmp(asked, "auto") == 0)
		asked = policy->backend;
	if (is_pinned && strcmp(asked, policy->backend) != 0)
		return err_field(err, ERR_FORBIDDEN, EPERM, "backend",
				 "the policy %s allows only %s", policy->name, policy->backend);
	if (strcmp(asked, "auto") == 0)
		return 0;
	if (backend_find(asked) != NULL)
		return 0;
	return err_field(err, ERR_NOT_FOUND, ENOENT, "backend",
			 "there is no '%.80s'; use auto, " BACKEND_NAMES_TEXT, asked);
}

const char *op_backend_pin(const struct policy *policy, const char *asked)
{
	return asked != NULL && strcmp(asked, "auto") != 0 ? asked : policy->backend;
}

const struct policy *op_policy(const struct config *config, const struct op_caller *caller,
			       const char *asked, struct err *err)
{
	const struct config_token *token = caller != NULL ? caller->token : NULL;
	const struct policy *policy = NULL;

	return config_choose_policy(config, token, asked, &policy, err) == 0 ? policy : NULL;
}

int op_check_alone(const struct policy *policy, struct err *err)
{
	return policy->approve
		       ? err_field(err, ERR_FORBIDDEN, EPERM, "policy",
				   "under %s a person allows each run, which takes a daemon: "
				   "start `viv serve`",
				   policy->name)
		       : 0;
}

const char *op_trust(const struct policy *policy, const struct op_caller *caller)
{
	if (policy->trust[0] != '\0')
		return policy->trust;
	return caller != NULL && caller->name[0] != '\0' ? caller->name : TRUST_DEFAULT;
}

static int set_guard(const struct config *config, const struct policy *policy,
		     struct run_request *request, struct err *err)
{
	if (!policy->guard_enabled)
		return 0;
	if (request->is_command)
		return err_field(err, ERR_FORBIDDEN, EPERM, "command",
				 "the policy %s checks imports, so it takes Python only",
				 policy->name);
	request->guard_runtime = config_runtime(config, "bare", err);
	if (request->guard_runtime == NULL)
		return err_wrap(err, "the import guard");
	request->guard_block = &policy->guard_block;
	request->guard_allow = &policy->guard_allow;
	request->is_guard_strict = policy->guard_strict;
	return 0;
}

/* Derives what a run is told from what the client sent: the kind of stdin, the format of its data,
 * code or command. */
static int set_inputs(struct run_request *request, struct err *err)
{
	static const char live[] = "live";
	const struct run_bytes *typed = &request->stdin_bytes;

	if ((request->code.data != NULL) == (request->command.data != NULL))
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "code",
				 "give exactly one of code and command");
	request->is_command = request->command.data != NULL;
	if (request->is_command)
		request->code = request->command;
	if (request->data_format == RUN_DATA_NONE && request->data.size > 0)
		request->data_format = RUN_DATA_JSON;
	if (request->stdin_kind == RUN_STDIN_NONE && typed->size > 0)
		request->stdin_kind = typed->data != NULL && typed->size == strlen(live) &&
						      memcmp(typed->data, live, strlen(live)) == 0
					      ? RUN_STDIN_PIPE
					      : RUN_STDIN_BYTES;
	if (request->save_state != OP_YES)
		request->saved_max = 0;
	else if (request->saved_max == 0)
		request->saved_max = RUN_SAVED_MAX;
	return 0;
}

static int set_kind(const struct config *config, const struct policy *policy,
		    struct run_request *request, struct err *err)
{
	/* A command has no imports to go by: it gets the smallest runtime, unless one is asked
	 * for. */
	const void *code = request->is_command ? "" : request->code.data;
	size_t size = request->is_command ? 0 : request->code.size;
	struct box_kind *kind = &request->kind;
	struct buf both; /* imports for what a saved state needs, then the code */
	int r;

	buf_init(&both, size + SAVED_HEAD_MAX);
	if (request->saved.data != NULL) {
		saved_imports(request->saved.data, request->saved.size, &both);
		if (buf_append(&both, code, size) == 0) {
			code = both.data;
			size = both.size;
		}
	}
	r = config_choose_runtime(config, policy, request->runtime, code, size,
				  request->data_format != RUN_DATA_NONE, &kind->runtime, err);
	buf_done(&both);
	if (r < 0)
		return r;
	kind->data = policy->data[0] != '\0' ? policy->data : NULL;
	kind->is_cold = request->is_cold;
	return 0;
}

/* Checks `request`, which comes as the client asked for it, and narrows it to what `policy` grants;
 * where it runs is decided elsewhere. `kind` is that of the session it runs in; NULL: a sandbox of
 * its own. */
static int op_run_grant(const struct config *config, const struct op_caller *caller,
			const struct policy *policy, const struct box_kind *kind,
			struct run_request *request, struct err *err)
{
	struct policy_grant grant = {0};
	int r = set_inputs(request, err);

	if (r == 0)
		r = op_check_backend(policy, request->backend, err);
	if (r == 0)
		r = policy_narrow(policy, &request->limits, &grant, err);
	if (r < 0)
		return r;
	request->kind = kind != NULL ? *kind
				     : (struct box_kind){.plan = grant.plan,
							 .trust = op_trust(policy, caller)};
	if (kind == NULL)
		r = set_kind(config, policy, request, err);
	if (r == 0)
		r = set_guard(config, policy, request, err);
	if (r < 0)
		return r;
	request->is_forwarded = kind == NULL && caller != NULL && caller->is_forwarded;
	request->backend = op_backend_pin(policy, request->backend);
	if (request->runtime == NULL)
		request->runtime = policy->runtime;
	request->timeout_ms = grant.timeout_ms;
	request->timeout_max_ms = (uint32_t)policy->timeout_max_ms;
	request->output_max = grant.output;
	return 0;
}

int op_run_start(const struct config *config, struct pool *pool, const struct run_request *asked,
		 const struct run_calls *calls, void *user, struct run **ret_run, struct err *err)
{
	struct run_request request = *asked;
	const struct policy *policy = op_policy(config, NULL, asked->policy, err);
	int r = 0;

	if (policy == NULL)
		return err_code(err);
	if (!asked->is_probe)
		r = op_check_alone(policy, err);
	if (r == 0)
		r = op_run_grant(config, NULL, policy, NULL, &request, err);
	return r < 0 ? r : run_start(pool, &request, calls, user, ret_run, err);
}

/* ---- a served run ---- */

static struct served_run *served_new(struct engine *engine)
{
	struct served_run *served = xnew(struct served_run);

	served->engine = engine;
	served->asked_ns = now_ns();
	LIST_INSERT_HEAD(&engine->runs, served, entry);
	return served;
}

static void served_free(struct served_run *served)
{
	LIST_REMOVE(served, entry);
	admission_leave(served->engine->admission, &served->ticket);
	run_free(served->run);
	free(served->token);
	free(served->peer);
	free(served->code);
	free(served->inputs);
	free(served);
}

struct served_run *served_find(const struct engine *engine, const char *id)
{
	struct served_run *served = NULL;

	LIST_FOREACH(served, &engine->runs, entry) {
		if (strcmp(served->id, id) == 0)
			return served;
	}
	return NULL;
}

/* ---- its log: the head says who asked for what ---- */

static const char *or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static int put_head(const struct served_run *served, const struct run_request *request,
		    struct buf *buf)
{
	assert(request->kind.runtime != NULL);
	json_put(buf,
		 "{'session':%s,'op':%s,'token':%s,'peer':%s,'policy':%s,'runtime':%s,"
		 "'command':%i,'sha256':%s,'code_size':%llu,'line':",
		 or_null(served->session), served->op, served->token, served->peer,
		 served->policy->name, request->kind.runtime->name, request->is_command,
		 served->sha256, (unsigned long long)request->code.size);
	run_row_put_line(buf, request->code.data, request->code.size);
	json_put(buf, ",'who':{'token':%s,'via':%s,'client':%s,'peer':%s}", or_null(served->token),
		 or_null(served->via), or_null(served->client), or_null(served->peer));
	buf_text(buf, served->is_held ? ",\"held\":true}" : "}");
	return buf->failed;
}

static int open_log(struct served_run *served, const struct run_request *request, struct err *err)
{
	size_t code_size =
		request->code.size < RUN_LOG_CODE_MAX ? request->code.size : RUN_LOG_CODE_MAX;
	struct buf head;
	int r;

	buf_init(&head, LOG_HEAD_MAX);
	r = put_head(served, request, &head);
	if (r < 0)
		r = err_set(err, ERR_INTERNAL, -r, "no memory for the run's log");
	else
		r = logs_add(served->engine->logs, served->id, (const char *)head.data, head.size,
			     request->code.data, code_size, &served->log, err);
	buf_done(&head);
	return r;
}

static void note_code(struct served_run *served, const struct run_request *request)
{
	if (request->code.data == NULL)
		return;
	audit_sha256(request->code.data, request->code.size, served->sha256);
	if (!served->policy->audit_code)
		return;
	served->code_size =
		request->code.size < AUDIT_CODE_MAX ? request->code.size : AUDIT_CODE_MAX;
	served->code = malloc(served->code_size + 1);
	if (served->code != NULL)
		memcpy(served->code, request->code.data, served->code_size);
}

/* ---- its end ---- */

static void write_down(const struct served_run *served, const struct run_facts *facts)
{
	const char *policy = served->policy != NULL ? served->policy->name : "";
	const char *verdict = verdict_name(facts->verdict.kind);
	struct metrics *metrics = served->engine->metrics;
	double waited = (double)(served->admitted_ns - served->asked_ns) / 1e9;
	/* queue_ms includes the wait for admission after the run was made, which `waited`
	 * counts. */
	double started =
		facts->usage.queue_ms / 1e3 - (double)(served->admitted_ns - served->made_ns) / 1e9;
	const struct audit_run line = {
		.run = served->id,
		.session = or_null(served->session),
		.token = served->token,
		.peer = served->peer,
		.via = served->via,
		.client = served->client,
		.decided_by = served->decided_by,
		.op = served->op,
		.policy = policy,
		.runtime = facts->runtime,
		.sha256 = or_null(served->sha256),
		.code = served->code,
		.code_size = served->code_size,
		.verdict = verdict,
		.exit_code = facts->verdict.exit_code,
		.state = run_left_names[facts->left],
		.queue_ms = facts->usage.queue_ms,
		.wall_ms = facts->usage.wall_ms,
		.cpu_ms = facts->usage.cpu_ms,
		.peak_memory = facts->usage.peak_memory,
		.output_bytes = facts->usage.output_bytes,
	};

	metrics_add(metrics, METRIC_RUNS, policy, verdict, 1);
	metrics_observe(metrics, METRIC_RUN_QUEUE, policy, verdict, waited);
	metrics_observe(metrics, METRIC_RUN_START, policy, verdict, started > 0 ? started : 0);
	metrics_observe(metrics, METRIC_RUN_TIME, policy, verdict, facts->usage.wall_ms / 1e3);
	if (served->engine->audit != NULL)
		audit_put(served->engine->audit, &line);
}

static void answer_result(struct op_call *call, const struct served_run *served)
{
	struct err err = {0};
	struct result result;
	struct buf text;
	struct buf own;
	int r;

	if (served->answer == NULL || call->door->result != NULL) {
		op_text_result(call, served->log);
		return;
	}
	buf_init(&text, RESULT_MAX);
	buf_init(&own, RESULT_MAX);
	r = log_result(served->log, &text, &result, &err);
	if (r == 0)
		r = served->answer(&result, &own, &err);
	if (r == 0)
		op_answer(call, 200, &own);
	else
		op_fail(call, &err);
	buf_done(&text);
	buf_done(&own);
}

static void run_is_done(void *user, struct run *run)
{
	struct served_run *served = user;
	struct run_facts facts = run_facts(run);
	struct op_call *call = STEAL(served->call);

	if (facts.verdict.kind == VERDICT_OK || facts.verdict.kind == VERDICT_EXCEPTION) {
		served->engine->last_good_ms = now_ns() / 1000000;
		served->engine->health_why = (struct err){0};
	}
	served->is_held = false;
	log_set_held(served->log, false);
	write_down(served, &facts);
	announce_run(served->engine, served->log);
	if (call != NULL)
		answer_result(call, served);
	served_free(served);
}

static void run_has_started(void *user, struct run *run)
{
	struct served_run *served = user;

	served->run = run; /* the run may begin before the call that starts it returns */
	announce_run(served->engine, served->log);
}

const struct run_calls served_calls = {.begun = run_has_started, .done = run_is_done};

/* ---- its beginning ---- */

/* The run's log is open, so every outcome is recorded there from now on. */
static int start(struct served_run *served, struct session *session,
		 const struct run_request *request, struct err *err)
{
	struct engine *engine = served->engine;
	int r;

	if (session != NULL)
		r = session_run(session, request, &served_calls, served, &served->run, err);
	else
		r = run_start(engine->pool, request, &served_calls, served, &served->run, err);
	if (r < 0) {
		run_bury(engine->pool, served->log, RUN_LEFT_NONE, err);
		served->is_held = false;
	}
	log_set_held(served->log, served->is_held);
	if (r < 0 || request->is_held || (session != NULL && !run_has_begun(served->run)))
		announce_run(engine, served->log);
	return r;
}

/* Makes the run and starts it. A lost session is reported first, even while the pool is away. */
static int make(struct served_run *served, struct session *session, struct run_request *request,
		struct err *err)
{
	struct engine *engine = served->engine;
	int r = session != NULL ? session_check_open(session, err) : 0;

	served->made_ns = served->admitted_ns = now_ns();
	if (r == 0 && engine->pool == NULL)
		r = err_set(err, ERR_BUSY, EAGAIN, POOL_AWAY);
	if (r == 0 && session == NULL)
		r = run_choose(engine->pool, request, err);
	if (r == 0 && served->is_held)
		r = served_keep(served, request, err);
	if (r < 0)
		return r;
	request->is_held |= served->ticket.is_waiting;
	request->id = served->id;
	note_code(served, request);
	r = open_log(served, request, err);
	if (r < 0)
		return r;
	request->log = served->log;
	if (session == NULL && request->kind.backend->jobs == NULL)
		warm_use(engine, &request->kind);
	return start(served, session, request, err);
}

static void client_left(struct op_call *call)
{
	struct served_run *served = served_find(call->engine, call->run);

	if (served != NULL && served->is_cancelled_with_client && served->run != NULL)
		run_cancel(served->run, false);
}

static void answer_detached(struct op_call *call, const struct served_run *served)
{
	struct buf body;

	buf_init(&body, KIB);
	(void)buf_format(&body, "{\"id\":\"%s\"}", served->id);
	op_answer(call, 202, &body);
	buf_done(&body);
}

/* The run is admitted, or waits for admission: makes it, and answers the way the client asked. */
static void go(struct served_run *served, struct op_call *call, struct session *session,
	       struct run_request *request)
{
	struct err err = {0};

	if (make(served, session, request, &err) < 0) {
		admission_take_back(served->engine->admission, &served->ticket);
		served_free(served);
		op_fail(call, &err);
		return;
	}
	(void)snprintf(call->run, sizeof(call->run), "%s", served->id);
	call->left = client_left;
	if (request->detach == OP_YES)
		answer_detached(call, served);
	else if (call->wants_events)
		run_log_stream(call, served->log, 0, true);
	else
		served->call = call;
}

void served_begin(struct served_run *served)
{
	struct err why = {0};

	served->admitted_ns = now_ns();
	if (served->engine->pool != NULL) {
		run_allow(served->run, served->engine->pool);
		return;
	}
	(void)err_set(&why, ERR_BUSY, EAGAIN, POOL_AWAY);
	run_abandon(served->run, false, &why);
}

static void admitted_later(void *user)
{
	served_begin(user);
}

/* The memory that a held request takes, approximately. */
static uint64_t held_bytes(const struct run_request *request)
{
	uint64_t size = KIB;

	for (size_t i = 0; i < RUN_PARAMS; i++) {
		const struct run_bytes *bytes = request_bytes(request, &run_params[i]);

		size += bytes != NULL ? bytes->size : 0;
	}
	return size;
}

/* Under a policy that wants a person to allow each run, the run is held first and admitted
 * later. */
static enum admission_answer ask_admission(struct served_run *served, const struct op_call *call,
					   const struct run_request *request,
					   struct admission_refusal *refusal)
{
	struct admission *admission = served->engine->admission;
	const struct config_token *token = call->caller.token;

	if (!served->policy->approve || request->is_probe)
		return admission_run(admission, token, now_ns(), &served->ticket, refusal);
	served->is_held = admission_hold(admission, token, now_ns(), held_bytes(request),
					 &served->ticket, refusal);
	return served->is_held ? ADMISSION_NOW : ADMISSION_REFUSED;
}

void op_run_serve(struct op_call *call, const struct policy *policy, struct session *session,
		  struct run_request *request, op_run_answer *answer)
{
	struct engine *engine = call->engine;
	struct admission_refusal refusal = {0};
	struct served_run *served = NULL;
	struct err err = {0};

	if (engine->is_stopping) {
		(void)err_set(&err, ERR_BUSY, ESHUTDOWN, "the daemon is stopping");
		op_fail(call, &err);
		return;
	}
	served = served_new(engine);
	id_new("run_", served->id);
	served->policy = policy;
	served->answer = answer;
	served->op = call->op->name;
	served->token = xtext(call->caller.name);
	served->peer = xtext(call->caller.peer);
	served->via = call->caller.via != NULL ? call->caller.via : "http";
	memcpy(served->client, call->caller.client, sizeof(served->client));
	served->is_cancelled_with_client = call->is_cancelled_with_client;
	served->stand_ins = request->stand_ins;
	if (session != NULL)
		(void)snprintf(served->session, sizeof(served->session), "%s", session_id(session));
	served->ticket.start = admitted_later;
	served->ticket.user = served;
	if (ask_admission(served, call, request, &refusal) != ADMISSION_REFUSED) {
		go(served, call, session, request);
		return;
	}
	metrics_add(engine->metrics, METRIC_REJECTS, refusal.reason, NULL, 1);
	call->retry_after_s = refusal.retry_after_s;
	served_free(served);
	op_fail(call, &refusal.err);
}

/* ---- a run that was going on when the previous daemon died, from the head of its log ---- */

static void take_who(struct served_run *served, struct span who)
{
	/* The name of a door becomes a label of metrics, so nothing but letters is accepted. */
	span_text(span_member(who, "via"), served->via_kept, sizeof(served->via_kept));
	served->via = served->via_kept;
	if (served->via[0] == '\0' ||
	    served->via[strspn(served->via, "abcdefghijklmnopqrstuvwxyz")] != '\0')
		served->via = "unknown";
	span_text(span_member(who, "client"), served->client, sizeof(served->client));
}

static void take_head(struct served_run *served, const struct log_head *head)
{
	const struct config *config = served->engine->config;
	const struct config_token *token = NULL;
	struct err err = {0};
	char text[256];

	span_text(head->session, served->session, sizeof(served->session));
	span_text(head->sha256, served->sha256, sizeof(served->sha256));
	span_text(head->peer, text, sizeof(text));
	served->peer = xtext(text);
	take_who(served, head->who);
	span_text(head->token, text, sizeof(text));
	served->token = xtext(text);
	span_text(head->policy, text, sizeof(text));
	served->policy = config_policy(config, text, &err);
	served->op = served->session[0] != '\0' ? "session.run" : "run";
	for (size_t i = 0; i < config->token_count; i++) {
		if (strcmp(config->tokens[i].name, served->token) == 0)
			token = &config->tokens[i];
	}
	admission_run_kept(served->engine->admission, token, &served->ticket);
}

struct served_run *served_resume(struct engine *engine, struct log *log)
{
	struct served_run *served = served_new(engine);
	struct log_head head;
	struct err err = {0};

	(void)snprintf(served->id, sizeof(served->id), "%s", log_id(log));
	served->log = log;
	served->made_ns = served->admitted_ns = served->asked_ns;
	(void)log_head(log, &head);
	take_head(served, &head);
	if (served->policy == NULL)
		served->policy = config_policy(engine->config, "default", &err);
	return served;
}

void served_set_run(void *user, struct run *run)
{
	struct served_run *served = user;

	if (run != NULL)
		served->run = run;
	else
		served_free(served);
}

/* ---- the ops ---- */

static void run_in(struct op_call *call, struct session *session)
{
	const struct config *config = call->engine->config;
	struct run_request request = *(const struct run_request *)call->args;
	struct err err = {0};
	const struct policy *policy =
		session != NULL ? session_policy(session)
				: op_policy(config, &call->caller, request.policy, &err);

	if (policy == NULL ||
	    op_run_grant(config, &call->caller, policy,
			 session != NULL ? session_kind(session) : NULL, &request, &err) < 0)
		op_fail(call, &err);
	else
		op_run_serve(call, policy, session, &request, NULL);
}

static void call_run(struct op_call *call)
{
	run_in(call, NULL);
}

static void call_session_run(struct op_call *call)
{
	const struct run_request *request = call->args;
	struct session *session = op_session_find(call, request->session);

	if (session != NULL)
		run_in(call, session);
}

const struct op op_run = {
	.name = "run",
	.method = "POST",
	.path = "/v1/run",
	.help = "Run Python code in one fresh sandbox and stream what it prints",
	.params = run_params + 1,
	.param_count = RUN_PARAMS - 1,
	.args_size = sizeof(struct run_request),
	.answer = "Result",
	.also = "202 RunId",
	.is_stream = true,
	.call = call_run,
};

const struct op op_session_run = {
	.name = "session.run",
	.method = "POST",
	.path = "/v1/sessions/{id}/run",
	.help = "Run Python code in a session; runs of one session happen in order",
	.params = run_params,
	.param_count = RUN_PARAMS_SESSION,
	.args_size = sizeof(struct run_request),
	.answer = "Result",
	.also = "202 RunId",
	.is_stream = true,
	.call = call_session_run,
};
