// SPDX-License-Identifier: Apache-2.0
#include "op/flight.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "obs/metrics.h"
#include "op/announce.h"
#include "op/run_row.h"
#include "op/warm.h"
#include "session/testimony.h"
#include "session/verdict.h"

#define RESULT_MAX (256UL << 20)
#define HEAD_MAX (16U << 10)
#define CODE_KEPT_MAX (1U << 20) /* in the log, for the notebook */

static const char *const left_names[] = {
	[RUN_LEFT_NONE] = "none",
	[RUN_LEFT_PRESERVED] = "preserved",
	[RUN_LEFT_ROLLED_BACK] = "rolled_back",
	[RUN_LEFT_LOST] = "lost",
};

char *flight_text(const char *text)
{
	char *copy = strdup(text != NULL ? text : "");

	if (copy == NULL)
		abort();
	return copy;
}

struct flight *flight_new(struct engine *engine)
{
	struct flight *flight = xnew(struct flight);

	flight->engine = engine;
	flight->asked_ns = now_ns();
	LIST_INSERT_HEAD(&engine->flights, flight, entry);
	return flight;
}

void flight_free(struct flight *flight)
{
	LIST_REMOVE(flight, entry);
	admission_leave(flight->engine->admission, &flight->ticket);
	run_free(flight->run);
	free(flight->token);
	free(flight->peer);
	free(flight->code);
	free(flight->scratch);
	free(flight);
}

struct flight *flight_find(const struct engine *engine, const char *id)
{
	struct flight *flight = NULL;

	LIST_FOREACH(flight, &engine->flights, entry) {
		if (strcmp(flight->id, id) == 0)
			return flight;
	}
	return NULL;
}

static bool member_is(const char *object, size_t size, const char *name, const char *text)
{
	const char *value = NULL;
	size_t value_size = 0;

	return json_find(object, size, name, &value, &value_size) &&
	       value_size == strlen(text) + 2 && memcmp(value + 1, text, strlen(text)) == 0;
}

static bool is_own(const struct log *log, const struct op_caller *caller)
{
	const char *head = NULL;
	size_t size = 0;

	return log_head(log, &head, &size) && member_is(head, size, "token", caller->name);
}

bool flight_may_see(const struct log *log, const struct op_caller *caller)
{
	return caller->is_overseer || is_own(log, caller);
}

/* A run that is not the caller's is not there. */
static struct log *find_log(struct op_call *call, const char *id,
			    bool (*may)(const struct log *log, const struct op_caller *caller))
{
	struct log *log = logs_find(call->engine->logs, id);
	struct err err = {0};

	if (log != NULL && strncmp(id, "run_", 4) == 0 && may(log, &call->caller))
		return log;
	(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "there is no run %.60s", id);
	op_fail(call, &err);
	return NULL;
}

struct log *flight_find_log(struct op_call *call, const char *id)
{
	return find_log(call, id, flight_may_see);
}

struct log *flight_find_own(struct op_call *call, const char *id)
{
	return find_log(call, id, is_own);
}

/* ---- the end ---- */

static void write_down(const struct flight *flight, const struct run_facts *facts)
{
	const char *policy = flight->policy != NULL ? flight->policy->name : "";
	const char *verdict = verdict_name(facts->verdict.kind);
	struct metrics *metrics = flight->engine->metrics;
	double waited = (double)(flight->admitted_ns - flight->asked_ns) / 1e9;
	const struct audit_run line = {
		.run = flight->id,
		.session = flight->session[0] != '\0' ? flight->session : NULL,
		.token = flight->token,
		.peer = flight->peer,
		.via = flight->via,
		.client = flight->client,
		.op = flight->op,
		.policy = policy,
		.runtime = facts->runtime,
		.sha256 = flight->sha256[0] != '\0' ? flight->sha256 : NULL,
		.code = flight->code,
		.code_size = flight->code_size,
		.verdict = verdict,
		.exit_code = facts->verdict.exit_code,
		.state = left_names[facts->left],
		.queue_ms = facts->usage.queue_ms,
		.wall_ms = facts->usage.wall_ms,
		.cpu_ms = facts->usage.cpu_ms,
		.peak_memory = facts->usage.peak_memory,
		.output_bytes = facts->usage.output_bytes,
	};

	metrics_add(metrics, METRIC_RUNS, policy, verdict, 1);
	metrics_observe(metrics, METRIC_RUN_QUEUE, policy, verdict, waited);
	metrics_observe(metrics, METRIC_RUN_START, policy, verdict, facts->usage.queue_ms / 1e3);
	metrics_observe(metrics, METRIC_RUN_TIME, policy, verdict, facts->usage.wall_ms / 1e3);
	if (flight->engine->audit != NULL)
		audit_put(flight->engine->audit, &line);
}

static void answer_result(struct op_call *call, const struct flight *flight)
{
	const struct flight_kind *kind = flight->kind;
	struct err err = {0};
	struct buf result;
	struct buf own;
	int r;

	buf_init(&result, RESULT_MAX);
	buf_init(&own, RESULT_MAX);
	r = log_result(flight->log, &result, &err);
	if (r == 0 && kind != NULL)
		r = kind->answer((const char *)result.data, result.size, &own, &err);
	if (r == 0)
		op_answer(call, 200, kind != NULL ? &own : &result);
	else
		op_fail(call, &err);
	buf_done(&result);
	buf_done(&own);
}

static void run_is_done(void *user, struct run *run)
{
	struct flight *flight = user;
	struct run_facts facts = run_facts(run);
	struct op_call *call = STEAL(flight->call);

	if (facts.verdict.kind == VERDICT_OK || facts.verdict.kind == VERDICT_EXCEPTION) {
		flight->engine->last_good_ms = now_ns() / 1000000;
		flight->engine->health_why = (struct err){0};
	}
	write_down(flight, &facts);
	announce_run(flight->engine, flight->log);
	if (call != NULL)
		answer_result(call, flight);
	flight_free(flight);
}

static void run_has_started(void *user, struct run *run)
{
	struct flight *flight = user;

	flight->run = run; /* it may be on before whoever started it has it back */
	announce_run(flight->engine, flight->log);
}

const struct run_calls flight_calls = {.begun = run_has_started, .done = run_is_done};

/* ---- the beginning ---- */

static int put_who(const struct flight *flight, struct buf *buf)
{
	struct op_caller caller = {.name = flight->token, .peer = flight->peer, .via = flight->via};

	op_client_set(&caller, flight->client);
	return run_row_put_who(buf, &caller);
}

static int put_head(const struct flight *flight, const struct run_request *request, struct buf *buf)
{
	int r = buf_format(buf, "{\"session\":%s%s%s,\"op\":\"%s\",\"token\":",
			   flight->session[0] != '\0' ? "\"" : "null", flight->session,
			   flight->session[0] != '\0' ? "\"" : "", flight->op);

	assert(request->kind.runtime != NULL);
	if (r == 0)
		r = json_put_text(buf, flight->token);
	if (r == 0)
		r = buf_text(buf, ",\"peer\":");
	if (r == 0)
		r = json_put_text(buf, flight->peer);
	if (r == 0)
		r = buf_text(buf, ",\"policy\":");
	if (r == 0)
		r = json_put_text(buf, flight->policy->name);
	if (r == 0)
		r = buf_text(buf, ",\"runtime\":");
	if (r == 0)
		r = json_put_text(buf, request->kind.runtime->name);
	if (r == 0)
		r = buf_format(buf,
			       ",\"command\":%s,\"sha256\":\"%s\",\"code_size\":%llu,\"line\":",
			       request->is_command ? "true" : "false", flight->sha256,
			       (unsigned long long)request->code.size);
	if (r == 0)
		r = run_row_put_line(buf, request->code.data, request->code.size);
	if (r == 0)
		r = buf_text(buf, ",\"who\":");
	if (r == 0)
		r = put_who(flight, buf);
	return r == 0 ? buf_text(buf, "}") : r;
}

static int open_log(struct flight *flight, const struct run_request *request, struct err *err)
{
	size_t code_size = request->code.size < CODE_KEPT_MAX ? request->code.size : CODE_KEPT_MAX;
	struct buf head;
	int r;

	buf_init(&head, HEAD_MAX);
	r = put_head(flight, request, &head);
	if (r < 0)
		r = err_set(err, ERR_INTERNAL, -r, "no memory for the run's log");
	else
		r = logs_add(flight->engine->logs, flight->id, (const char *)head.data, head.size,
			     request->code.data, code_size, &flight->log, err);
	buf_done(&head);
	return r;
}

static void note_code(struct flight *flight, const struct run_request *request)
{
	if (request->code.data == NULL)
		return;
	audit_sha256(request->code.data, request->code.size, flight->sha256);
	if (!flight->policy->audit_code)
		return;
	flight->code_size =
		request->code.size < AUDIT_CODE_MAX ? request->code.size : AUDIT_CODE_MAX;
	flight->code = malloc(flight->code_size + 1);
	if (flight->code != NULL)
		memcpy(flight->code, request->code.data, flight->code_size);
}

static int make_request(struct flight *flight, const struct op_call *call,
			const struct op_run_args *args, struct session *session,
			struct run_request *request, struct err *err)
{
	static const char live[] = "live";
	struct op_run_args own = *args;
	int r;

	if ((args->code.data != NULL) == (args->command.data != NULL))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "code: give exactly one of code and command");
	own.data_format = args->data.size > 0 ? RUN_DATA_JSON : RUN_DATA_NONE;
	if (args->stdin_bytes.size > 0)
		own.stdin_kind = RUN_STDIN_BYTES;
	if (args->stdin_bytes.data != NULL && args->stdin_bytes.size == strlen(live) &&
	    memcmp(args->stdin_bytes.data, live, strlen(live)) == 0)
		own.stdin_kind = RUN_STDIN_PIPE;
	if (session != NULL) {
		const struct pool_kind *kind = session_kind(session);

		own.policy = session_policy(session)->name;
		own.runtime = kind->runtime->name;
	}
	r = op_run_request(flight->engine->config, session == NULL ? &call->caller : NULL, &own,
			   request, err);
	if (r < 0)
		return r;
	flight->policy = config_policy(flight->engine->config,
				       own.policy != NULL ? own.policy : "default", err);
	return 0;
}

/* Starts the run itself. The call is still there: nothing has been answered. */
static int lift(struct flight *flight, struct op_call *call, struct err *err)
{
	struct engine *engine = flight->engine;
	struct run_request request = {0};
	const struct backend *backend = NULL;
	struct session *session = NULL;
	int r;

	flight->admitted_ns = now_ns();
	if (flight->session[0] != '\0') {
		session = sessions_find(engine->sessions, flight->session);
		if (session == NULL)
			return err_set(err, ERR_NOT_FOUND, ENOENT, "there is no session %s",
				       flight->session);
	}
	if (engine->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, "viv-launch is being started again");
	if (flight->kind != NULL)
		r = flight->kind->request(flight, call, &request, err);
	else
		r = make_request(flight, call, call->args, session, &request, err);
	if (r == 0 && session == NULL)
		r = run_choose(engine->pool, &request, &backend, err);
	if (r < 0)
		return r;
	assert(request.kind.runtime != NULL);
	request.id = flight->id;
	note_code(flight, &request);
	r = open_log(flight, &request, err);
	if (r < 0)
		return r;
	request.log = flight->log;
	if (backend != NULL && backend->jobs == NULL)
		warm_use(engine, &request.kind);
	if (session != NULL)
		r = session_run(session, &request, &flight_calls, flight, &flight->run, err);
	else
		r = run_start(engine->pool, &request, &flight_calls, flight, &flight->run, err);
	if (r < 0)
		run_bury(engine->pool, flight->log, RUN_LEFT_NONE, err);
	if (r < 0 || (session != NULL && !run_has_begun(flight->run)))
		announce_run(engine, flight->log);
	return r;
}

static void client_left(struct op_call *call)
{
	struct flight *flight = flight_find(call->engine, call->run);

	if (flight != NULL && flight->is_cancelled_with_client && flight->run != NULL)
		run_cancel(flight->run, false);
}

static void answer_detached(struct op_call *call, const struct flight *flight)
{
	struct buf body;

	buf_init(&body, KIB);
	(void)buf_format(&body, "{\"id\":\"%s\"}", flight->id);
	op_answer(call, 202, &body);
	buf_done(&body);
}

/* Admitted: go, and answer as was asked. */
static void go(struct flight *flight)
{
	struct op_call *call = STEAL(flight->call);
	const struct op_run_args *args = flight->kind == NULL ? call->args : NULL;
	struct err err = {0};

	if (lift(flight, call, &err) < 0) {
		flight_free(flight);
		op_fail(call, &err);
		return;
	}
	(void)snprintf(call->run, sizeof(call->run), "%s", flight->id);
	call->left = client_left;
	if (args != NULL && args->detach == OP_YES)
		answer_detached(call, flight);
	else if (call->wants_events)
		flight_stream(call, flight->log, 0, true);
	else
		flight->call = call;
}

/* Nobody waits any more for a run that has not been admitted. */
static void waiting_left(struct op_call *call)
{
	struct flight *flight = call->state;
	struct err err = {0};

	if (!flight->is_cancelled_with_client)
		return;
	flight_free(flight);
	(void)err_set(&err, ERR_CONFLICT, ECANCELED, "the client went away");
	op_fail(call, &err);
}

static void admitted_later(void *user)
{
	go(user);
}

static void take_off(struct op_call *call, const struct flight_kind *kind, struct session *session)
{
	struct engine *engine = call->engine;
	struct admission_refusal refusal = {0};
	struct flight *flight = NULL;
	struct err err = {0};

	if (engine->is_stopping) {
		(void)err_set(&err, ERR_BUSY, ESHUTDOWN, "the daemon is stopping");
		op_fail(call, &err);
		return;
	}
	flight = flight_new(engine);
	id_new("run_", flight->id);
	flight->kind = kind;
	flight->op = call->op->name;
	flight->token = flight_text(call->caller.name);
	flight->peer = flight_text(call->caller.peer);
	flight->via = call->caller.via != NULL ? call->caller.via : "http";
	memcpy(flight->client, call->caller.client, sizeof(flight->client));
	flight->is_cancelled_with_client = call->is_cancelled_with_client;
	flight->is_elitea = kind == NULL && ((const struct op_run_args *)call->args)->is_elitea;
	if (session != NULL)
		(void)snprintf(flight->session, sizeof(flight->session), "%s", session_id(session));
	flight->call = call;
	flight->ticket.start = admitted_later;
	flight->ticket.user = flight;
	switch (admission_run(engine->admission, call->caller.token, now_ns(), &flight->ticket,
			      &refusal)) {
	case ADMISSION_NOW:
		go(flight);
		break;
	case ADMISSION_WAIT:
		call->state = flight;
		call->left = waiting_left;
		break;
	case ADMISSION_REFUSED:
		metrics_add(engine->metrics, METRIC_REJECTS, refusal.reason, NULL, 1);
		call->retry_after_s = refusal.retry_after_s;
		if (refusal.status == 429)
			refusal.err.num = EDQUOT; /* the caller's own quota, not the machine's */
		flight_free(flight);
		op_fail(call, &refusal.err);
		break;
	}
}

void flight_take_off(struct op_call *call, const struct op_run_args *args, struct session *session)
{
	(void)args;
	take_off(call, NULL, session);
}

void flight_take_off_as(struct op_call *call, const struct flight_kind *kind)
{
	take_off(call, kind, NULL);
}

void flight_set_run(void *user, struct run *run)
{
	struct flight *flight = user;

	if (run != NULL)
		flight->run = run;
	else
		flight_free(flight);
}
