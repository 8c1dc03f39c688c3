// SPDX-License-Identifier: Apache-2.0
#include "op/op_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "obs/metrics.h"
#include "op/op_backends.h"
#include "op/run_log.h"
#include "op/warm.h"
#include "policy/number.h"
#include "session/admission.h"

struct session_args {
	const char *id;
	const char *run;
	uint64_t grace_ms;
	uint64_t after;
	enum op_bool follow;
};

static struct session *find(struct op_call *call, const char *id, bool is_to_look)
{
	struct session *session = sessions_find(call->engine->sessions, id);
	struct err err = {0};

	if (session != NULL && (strcmp(session_token(session), call->caller.name) == 0 ||
				(is_to_look && call->caller.is_overseer)))
		return session;
	(void)err_set(&err, ERR_NOT_FOUND, ESRCH, "there is no session %.60s", id);
	op_fail(call, &err);
	return NULL;
}

struct session *op_session_find(struct op_call *call, const char *id)
{
	return find(call, id, false);
}

void op_session_answer(struct op_call *call, unsigned status, const struct session *session)
{
	struct buf body;

	(void)snprintf(call->session, sizeof(call->session), "%s", session_id(session));
	buf_init(&body, SESSION_ANSWER_MAX);
	(void)session_put(session, &body);
	op_answer(call, status, &body);
	buf_done(&body);
}

void op_session_done(struct op_call *call, const char *id, const struct err *why)
{
	const struct session *session = why == NULL ? op_session_find(call, id) : NULL;

	if (why != NULL)
		op_fail(call, why);
	else if (session != NULL)
		op_session_answer(call, 200, session);
}

/* ---- create ---- */

/* The rows are written once; only where the parameters are found differs. */
#define CREATE(where, field, ...)                                                                  \
	{                                                                                          \
		OP_PARAM(struct op_create_args, field, .in = (where), .name = #field, __VA_ARGS__) \
	}
// clang-format off
#define CREATE_ROWS(where)                                                                         \
	CREATE(where, policy, .type = OP_TEXT,                                                     \
	       .help = "limits, guard and mounts of its runs (default: default)"),                 \
	CREATE(where, runtime, .type = OP_TEXT,                                                    \
	       .help = "Python environment (default: auto: base if there is one)"),                \
	CREATE(where, backend, .type = OP_TEXT,                                                    \
	       .help = "way to build the sandbox (default: auto)"),                                \
	CREATE(where, name, .type = OP_TEXT, .help = "a name for people"),                         \
	CREATE(where, idle_ms, .type = OP_MS, .min = 1000,                                         \
	       .help = "it ends when nobody has used it for this long; at most sessions.idle_ms"),  \
	CREATE(where, ttl_ms, .type = OP_MS, .min = 1000,                                          \
	       .help = "it ends this long after it was made; at most sessions.ttl_ms"),            \
	CREATE(where, transactional, .type = OP_BOOL,                                              \
	       .help = "a run that fails leaves the variables as they were (default: true)"),      \
	CREATE(where, keep, .type = OP_BOOL,                                                       \
	       .help = "write its states to disk; it sleeps instead of ending, and can be "  \
		       "woken, even after a reboot (default: false)")
// clang-format on

static const struct op_param create_params[] = {
	CREATE_ROWS(OP_IN_BODY),
	CREATE(OP_IN_BODY, reuse, .type = OP_BOOL,
	       .help = "if the caller already has a session of this name, answer with that one "
		       "(default: false)"),
};
const struct op_param op_import_params[OP_CREATE_PARAMS] = {CREATE_ROWS(OP_IN_QUERY)};

/* A session's imports are not known in advance: it gets `base`, which most analyses need, if there
 * is one. */
static int choose_runtime(const struct config *config, const struct policy *policy,
			  const char *asked, const struct runtime **ret_runtime, struct err *err)
{
	struct err none = {0};

	if ((asked == NULL || strcmp(asked, "auto") == 0) && strcmp(policy->runtime, "auto") == 0 &&
	    config_runtime(config, "base", &none) != NULL)
		asked = "base";
	return config_choose_runtime(config, policy, asked, "", 0, false, ret_runtime, err);
}

/* The config has the upper limit of what a client may ask for. */
static int check_life(const char *name, uint64_t asked, uint64_t most, struct err *err)
{
	char asked_text[32], most_text[32];

	if (asked <= most)
		return 0;
	number_format(NUMBER_MS, asked, asked_text, sizeof(asked_text));
	number_format(NUMBER_MS, most, most_text, sizeof(most_text));
	return err_field(err, ERR_BAD_REQUEST, ERANGE, name, "%s is above the %s of the config",
			 asked_text, most_text);
}

int op_session_choose(const struct op_call *call, const struct op_create_args *args,
		      struct session_change *ret_choice, struct err *err)
{
	const struct config *config = call->engine->config;
	const struct policy *policy = op_policy(config, &call->caller, args->policy, err);
	struct session_change choice = {.policy = policy};
	struct policy_grant grant = {0};
	int r;

	if (policy == NULL)
		return -err->num;
	r = op_check_backend(policy, args->backend, err);
	if (r == 0)
		r = policy_narrow(policy, NULL, &grant, err);
	if (r == 0)
		r = choose_runtime(config, policy, args->runtime, &choice.kind.runtime, err);
	if (r < 0)
		return r;
	choice.pin = args->backend != NULL ? backend_find(args->backend) : NULL;
	choice.kind.plan = grant.plan;
	choice.kind.trust = op_trust(policy, &call->caller);
	choice.kind.data = policy->data[0] != '\0' ? policy->data : NULL;
	*ret_choice = choice;
	return 0;
}

static int make_ask(const struct op_call *call, const struct op_create_args *args,
		    struct session_ask *ask, struct err *err)
{
	const struct config *config = call->engine->config;
	struct session_change choice = {0};
	int r = op_session_choose(call, args, &choice, err);

	if (r < 0)
		return r;
	if (args->name != NULL && strlen(args->name) > SESSION_NAME_MAX)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "name", "at most %d bytes",
				 SESSION_NAME_MAX);
	r = check_life("idle_ms", args->idle_ms, config->session_idle_ms, err);
	if (r == 0)
		r = check_life("ttl_ms", args->ttl_ms, config->session_ttl_ms, err);
	if (r < 0)
		return r;
	ask->policy = choice.policy;
	ask->kind = choice.kind;
	ask->pin = choice.pin;
	ask->name = args->name != NULL ? args->name : "";
	ask->token = call->caller.name;
	ask->idle_ms = (uint32_t)args->idle_ms;
	ask->ttl_ms = (uint32_t)args->ttl_ms;
	ask->is_transactional = args->transactional != OP_NO;
	ask->is_kept = args->keep == OP_YES;
	return 0;
}

/* Chooses the backend of a session, which always runs on this host. If that backend cannot fork
 * heads, the session is not transactional. */
static int choose_backend(const struct engine *engine, struct session_ask *ask, const char *asked,
			  enum op_bool is_transactional, struct err *err)
{
	const struct backend_host host = op_host(engine);
	int r = backend_choose(&host, BACKEND_SESSION, op_backend_pin(ask->policy, asked), false,
			       &ask->kind.backend, err);

	if (r < 0 || ask->kind.backend->box->fork_head != NULL)
		return r;
	if (is_transactional == OP_YES)
		return err_field(err, ERR_UNSUPPORTED, EOPNOTSUPP, "transactional",
				 "sandboxes of %s cannot be forked", ask->kind.backend->name);
	ask->is_transactional = false;
	return 0;
}

void op_session_make(struct op_call *call, const struct op_create_args *args,
		     void (*created)(void *call, struct session *session, const struct err *why))
{
	struct engine *engine = call->engine;
	struct admission_refusal refusal = {0};
	struct session_ask ask = {0};
	struct session *session = NULL;
	struct err err = {0};
	int r = make_ask(call, args, &ask, &err);

	if (r == 0 && engine->is_stopping)
		r = err_set(&err, ERR_BUSY, ESHUTDOWN, "the daemon is stopping");
	if (r == 0 && engine->pool == NULL)
		r = err_set(&err, ERR_BUSY, EAGAIN, POOL_AWAY);
	if (r == 0 && ask.is_kept)
		r = sessions_check_room(engine->sessions, &err);
	if (r == 0)
		r = choose_backend(engine, &ask, args->backend, args->transactional, &err);
	if (r == 0 &&
	    admission_session(engine->admission, call->caller.token, now_ns(), &refusal) < 0) {
		metrics_add(engine->metrics, METRIC_REJECTS, refusal.reason, NULL, 1);
		call->retry_after_s = refusal.retry_after_s;
		err = refusal.err;
		r = -EBUSY;
	}
	/* There is room for one more. The place is given back, since the session itself takes
	 * it. */
	if (r == 0) {
		admission_session_leave(engine->admission, call->caller.token);
		warm_use(engine, &ask.kind);
		r = session_create(engine->sessions, &ask, created, call, &session, &err);
	}
	if (r < 0)
		op_fail(call, &err);
}

static void created(void *user, struct session *session, const struct err *why)
{
	struct op_call *call = user;

	if (why != NULL)
		op_fail(call, why);
	else
		op_session_answer(call, 201, session);
}

struct namesake {
	const struct op_call *call;
	struct session *found; /* a usable session */
	struct session *lost;  /* a lost one */
};

static void look_at_name(void *user, struct session *session)
{
	struct namesake *namesake = user;
	const struct op_create_args *args = namesake->call->args;

	if (strcmp(session_token(session), namesake->call->caller.name) != 0 ||
	    strcmp(session_name(session), args->name) != 0)
		return;
	if (args->policy != NULL && strcmp(session_policy(session)->name, args->policy) != 0)
		return;
	if (session_state(session) == SESSION_LOST)
		namesake->lost = session;
	else
		namesake->found = session;
}

/* A caller that asks while the session is still being made gets the same one; its runs wait for
 * it. */
static void call_create(struct op_call *call)
{
	const struct op_create_args *args = call->args;
	struct namesake namesake = {.call = call};

	if (args->reuse == OP_YES && args->name != NULL && args->name[0] != '\0')
		sessions_each(call->engine->sessions, look_at_name, &namesake);
	if (namesake.found != NULL) {
		op_session_answer(call, 200, namesake.found);
		return;
	}
	if (namesake.lost != NULL)
		session_close(namesake.lost);
	op_session_make(call, args, created);
}

/* ---- list, get, delete ---- */

static const struct op_param id_params[] = {OP_SESSION_ID(struct session_args)};

struct listing {
	const struct op_caller *caller;
	struct session **items;
	size_t count;
};

static void list_one(void *user, struct session *session)
{
	struct listing *listing = user;

	if (op_may_see(listing->caller, session_token(session)))
		listing->items[listing->count++] = session;
}

static int compare_age(const void *a, const void *b)
{
	const struct session *const *one = a;
	const struct session *const *other = b;
	uint64_t one_ms = session_created_ms(*one);
	uint64_t other_ms = session_created_ms(*other);

	if (one_ms != other_ms)
		return one_ms < other_ms ? -1 : 1;
	return strcmp(session_id(*one), session_id(*other));
}

struct session **op_sessions_seen(const struct engine *engine, const struct op_caller *caller)
{
	struct listing listing = {.caller = caller};

	listing.items = xcalloc(sessions_count(engine->sessions) + 1UL, sizeof(struct session *));
	sessions_each(engine->sessions, list_one, &listing);
	qsort(listing.items, listing.count, sizeof(struct session *), compare_age);
	return listing.items;
}

static void call_list(struct op_call *call)
{
	AUTO_FREE struct session **sessions = op_sessions_seen(call->engine, &call->caller);
	struct buf body;

	buf_init(&body, 16UL * SESSION_ANSWER_MAX);
	(void)buf_text(&body, "{\"sessions\":[");
	for (size_t i = 0; sessions[i] != NULL; i++) {
		(void)buf_text(&body, i > 0 ? "," : "");
		(void)session_put(sessions[i], &body);
	}
	(void)buf_text(&body, "]}");
	op_answer(call, 200, &body);
	buf_done(&body);
}

static void call_get(struct op_call *call)
{
	const struct session_args *args = call->args;
	struct session *session = find(call, args->id, true);

	if (session != NULL)
		op_session_answer(call, 200, session);
}

static void call_delete(struct op_call *call)
{
	const struct session_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct buf none;

	if (session == NULL)
		return;
	session_close(session);
	buf_init(&none, 0);
	op_answer(call, 204, &none);
	buf_done(&none);
}

/* ---- interrupt, events ---- */

static const struct op_param interrupt_params[] = {
	OP_SESSION_ID(struct session_args),
	{OP_PARAM(struct session_args, run, .name = "run", .type = OP_TEXT,
		  .help = "interrupt only if this is the current run")},
	{OP_PARAM(
		struct session_args, grace_ms, .name = "grace_ms", .type = OP_MS, .max = 600000,
		.help = "a run not over after this long is ended and rolled back (default: 2000)")},
};

static void interrupted(void *user, const struct err *why)
{
	struct op_call *call = user;
	const struct session_args *args = call->args;

	op_session_done(call, args->id, why);
}

static void call_interrupt(struct op_call *call)
{
	const struct session_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	uint64_t grace_ms = args->grace_ms > 0 ? args->grace_ms : 2000;
	struct run *held = session != NULL ? session_held_run(session, args->run) : NULL;
	struct err err = {0};

	if (held != NULL) {
		(void)err_set(&err, ERR_CONFLICT, ECANCELED, "it was cancelled");
		run_abandon(held, true, &err);
		op_session_answer(call, 200, session);
		return;
	}
	if (session != NULL &&
	    session_interrupt(session, args->run, (uint32_t)grace_ms, interrupted, call, &err) < 0)
		op_fail(call, &err);
}

static const struct op_param events_params[] = {
	OP_SESSION_ID(struct session_args),
	{OP_PARAM(struct session_args, after, .name = "after", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .help = "number of the last event that is known already (default: 0)")},
	{OP_PARAM(struct session_args, follow, .name = "follow", .type = OP_BOOL, .in = OP_IN_QUERY,
		  .help = "wait for new events (default: true)")},
};

static void call_events(struct op_call *call)
{
	const struct session_args *args = call->args;
	struct session *session = find(call, args->id, true);
	struct log *log = session != NULL ? logs_find(call->engine->logs, args->id) : NULL;
	struct err err = {0};

	if (log != NULL) {
		run_log_stream(call, log, args->after, args->follow != OP_NO);
	} else if (session != NULL) {
		(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "the session's events are not kept");
		op_fail(call, &err);
	}
}

const struct op op_session_create = {
	.name = "session.create",
	.method = "POST",
	.path = "/v1/sessions",
	.help = "Make a session: variables and files are kept from run to run",
	.params = create_params,
	.param_count = ARRAY_LEN(create_params),
	.args_size = sizeof(struct op_create_args),
	.answer = "Session",
	.status = 201,
	.also = "200 Session",
	.call = call_create,
};

const struct op op_session_list = {
	.name = "session.list",
	.method = "GET",
	.path = "/v1/sessions",
	.help = "Every session of this caller",
	.answer = "Sessions",
	.call = call_list,
};

const struct op op_session_get = {
	.name = "session.get",
	.method = "GET",
	.path = "/v1/sessions/{id}",
	.help = "One session",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct session_args),
	.answer = "Session",
	.call = call_get,
};

const struct op op_session_delete = {
	.name = "session.delete",
	.method = "DELETE",
	.path = "/v1/sessions/{id}",
	.help = "End a session: its run is cancelled, its variables and files are deleted",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct session_args),
	.status = 204,
	.call = call_delete,
};

const struct op op_session_interrupt = {
	.name = "session.interrupt",
	.method = "POST",
	.path = "/v1/sessions/{id}/interrupt",
	.help = "Raise KeyboardInterrupt in the current run; answers when the run is over",
	.params = interrupt_params,
	.param_count = ARRAY_LEN(interrupt_params),
	.args_size = sizeof(struct session_args),
	.answer = "Session",
	.call = call_interrupt,
};

const struct op op_session_events = {
	.name = "session.events",
	.method = "GET",
	.path = "/v1/sessions/{id}/events",
	.help = "What happened to the session itself: warnings before its end, freezing, rollbacks",
	.params = events_params,
	.param_count = ARRAY_LEN(events_params),
	.args_size = sizeof(struct session_args),
	.answer = "SessionEvent",
	.is_stream = true,
	.call = call_events,
};
