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
#include "op/op_text.h"
#include "op/run_row.h"
#include "op/warm.h"
#include "session/testimony.h"
#include "session/verdict.h"

#define RESULT_MAX (256UL << 20)

static const char *const left_names[] = {
	[RUN_LEFT_NONE] = "none",
	[RUN_LEFT_PRESERVED] = "preserved",
	[RUN_LEFT_ROLLED_BACK] = "rolled_back",
	[RUN_LEFT_LOST] = "lost",
};

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
	free(flight->inputs);
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

/* ---- the end ---- */

static void write_down(const struct flight *flight, const struct run_facts *facts)
{
	const char *policy = flight->policy != NULL ? flight->policy->name : "";
	const char *verdict = verdict_name(facts->verdict.kind);
	struct metrics *metrics = flight->engine->metrics;
	double waited = (double)(flight->admitted_ns - flight->asked_ns) / 1e9;
	/* What it waited for admission after it was made is in the run's own time, too. */
	double started =
		facts->usage.queue_ms / 1e3 - (double)(flight->admitted_ns - flight->made_ns) / 1e9;
	const struct audit_run line = {
		.run = flight->id,
		.session = flight->session[0] != '\0' ? flight->session : NULL,
		.token = flight->token,
		.peer = flight->peer,
		.via = flight->via,
		.client = flight->client,
		.decided_by = flight->decided_by,
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
	metrics_observe(metrics, METRIC_RUN_START, policy, verdict, started > 0 ? started : 0);
	metrics_observe(metrics, METRIC_RUN_TIME, policy, verdict, facts->usage.wall_ms / 1e3);
	if (flight->engine->audit != NULL)
		audit_put(flight->engine->audit, &line);
}

static void answer_result(struct op_call *call, const struct flight *flight)
{
	struct err err = {0};
	struct buf result;
	struct buf own;
	int r;

	if (flight->kind == NULL) {
		op_text_result(call, flight->log);
		return;
	}
	buf_init(&result, RESULT_MAX);
	buf_init(&own, RESULT_MAX);
	r = log_result(flight->log, &result, &err);
	if (r == 0)
		r = flight->kind->answer((const char *)result.data, result.size, &own, &err);
	if (r == 0)
		op_answer(call, 200, &own);
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
	flight->is_held = false;
	log_set_held(flight->log, false);
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
		const struct box_kind *kind = session_kind(session);

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

static bool is_probe(const struct flight *flight, const struct op_call *call)
{
	return flight->kind == NULL && ((const struct op_run_args *)call->args)->is_probe;
}

/* The session it runs in, NULL for one alone. A lost one stays lost, whether launch is back or not.
 */
static int find_place(struct flight *flight, struct session **ret_session, struct err *err)
{
	struct engine *engine = flight->engine;
	int r = 0;

	if (flight->session[0] != '\0') {
		*ret_session = sessions_find(engine->sessions, flight->session);
		if (*ret_session == NULL)
			return err_set(err, ERR_NOT_FOUND, ENOENT, "there is no session %s",
				       flight->session);
		r = session_check_open(*ret_session, err);
	}
	if (r == 0 && engine->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, "viv-launch is being started again");
	return r;
}

/* Its log is open. Whatever becomes of it stands there from now on. */
static int start(struct flight *flight, struct session *session, const struct run_request *request,
		 struct err *err)
{
	struct engine *engine = flight->engine;
	int r;

	if (session != NULL)
		r = session_run(session, request, &flight_calls, flight, &flight->run, err);
	else
		r = run_start(engine->pool, request, &flight_calls, flight, &flight->run, err);
	if (r < 0) {
		run_bury(engine->pool, flight->log, RUN_LEFT_NONE, err);
		flight->is_held = false;
	}
	log_set_held(flight->log, flight->is_held);
	if (r < 0 || request->is_held || (session != NULL && !run_has_begun(flight->run)))
		announce_run(engine, flight->log);
	return r;
}

/* Starts the run itself. The call is still there: nothing has been answered. */
static int lift(struct flight *flight, struct op_call *call, struct err *err)
{
	struct engine *engine = flight->engine;
	struct run_request request = {0};
	struct session *session = NULL;
	int r;

	flight->made_ns = flight->admitted_ns = now_ns();
	r = find_place(flight, &session, err);
	if (r < 0)
		return r;
	if (flight->kind != NULL)
		r = flight->kind->request(flight, call, &request, err);
	else
		r = make_request(flight, call, call->args, session, &request, err);
	if (r == 0 && session == NULL)
		r = run_choose(engine->pool, &request, err);
	if (r < 0)
		return r;
	assert(request.kind.runtime != NULL);
	if (flight->is_held != flight->policy->approve && !is_probe(flight, call))
		return err_set(err, ERR_INTERNAL, EPERM, "%s: its policy was not asked first",
			       flight->id);
	if (flight->is_held && flight_keep(flight, &request, err) < 0)
		return -err->num;
	request.is_held |= flight->ticket.is_waiting;
	request.id = flight->id;
	flight_note_code(flight, &request);
	r = flight_open_log(flight, &request, err);
	if (r < 0)
		return r;
	request.log = flight->log;
	if (session == NULL && request.kind.backend->jobs == NULL)
		warm_use(engine, &request.kind);
	return start(flight, session, &request, err);
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

/* Admitted, or made to wait: answer as was asked. */
static void go(struct flight *flight)
{
	struct op_call *call = STEAL(flight->call);
	const struct op_run_args *args = flight->kind == NULL ? call->args : NULL;
	struct err err = {0};

	if (lift(flight, call, &err) < 0) {
		admission_take_back(flight->engine->admission, &flight->ticket);
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

static void admitted_later(void *user)
{
	flight_begin(user);
}

/* Under a policy that wants a person to allow each run it is held first, and admitted then. */
static enum admission_answer ask_admission(struct flight *flight, const struct op_call *call,
					   const struct session *session,
					   struct admission_refusal *refusal)
{
	struct admission *admission = flight->engine->admission;
	const struct config_token *token = call->caller.token;

	if (!flight_is_to_be_held(call, flight->kind, session))
		return admission_run(admission, token, now_ns(), &flight->ticket, refusal);
	flight->is_held =
		admission_hold(admission, token, now_ns(), flight_bytes(call, flight->kind),
			       &flight->ticket, refusal);
	return flight->is_held ? ADMISSION_NOW : ADMISSION_REFUSED;
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
	flight->token = xtext(call->caller.name);
	flight->peer = xtext(call->caller.peer);
	flight->via = call->caller.via != NULL ? call->caller.via : "http";
	memcpy(flight->client, call->caller.client, sizeof(flight->client));
	flight->is_cancelled_with_client = call->is_cancelled_with_client;
	if (kind == NULL)
		flight->stand_ins = ((const struct op_run_args *)call->args)->stand_ins;
	if (session != NULL)
		(void)snprintf(flight->session, sizeof(flight->session), "%s", session_id(session));
	flight->call = call;
	flight->ticket.start = admitted_later;
	flight->ticket.user = flight;
	switch (ask_admission(flight, call, session, &refusal)) {
	case ADMISSION_NOW:
	case ADMISSION_WAIT:
		go(flight);
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
