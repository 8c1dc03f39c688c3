// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/choose.h"
#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "op/op_run.h"
#include "op/run_log.h"
#include "op/warm.h"
#include "session/sandbox.h"

#define RESTART_FIRST_MS 20U
#define RESTART_DOUBLINGS 8U /* five seconds at most */
#define SWEEP_TRIES 8U

/* ---- after a restart: what launch kept ---- */

static void sandbox_kept(void *user, struct sandbox *sandbox, const char *name)
{
	struct daemon *daemon = user;
	struct log *log = NULL;
	struct served_run *served = NULL;
	struct err err = {0};

	if (sessions_kept(daemon->engine.sessions, sandbox, name))
		return;
	log = strncmp(name, "run_", 4) == 0 ? logs_find(daemon->engine.logs, name) : NULL;
	if (log == NULL || log_is_over(log)) {
		sandbox_end(sandbox);
		return;
	}
	served = served_resume(&daemon->engine, log);
	if (run_resume(daemon->engine.pool, log, NULL, NULL, NULL, sandbox, &served_calls, served,
		       &served->run, &err) < 0) {
		run_bury(daemon->engine.pool, log, RUN_LEFT_NONE, &err);
		served_set_run(served, NULL);
		sandbox_end(sandbox);
	}
}

static void head_kept(void *user, struct sandbox *sandbox, uint32_t number, int32_t pid,
		      int *take_fds, size_t fd_count)
{
	struct daemon *daemon = user;

	/* A head that no session knows was being made when the previous daemon died. */
	if (!sessions_kept_head(daemon->engine.sessions, sandbox, number, pid, take_fds,
				fd_count) &&
	    number > 0)
		sandbox_drop_head(sandbox, number);
}

/* Ends the log of an accepted run that nothing carries on: it had not begun, or its sandbox has
 * ended. */
static void bury_orphan(void *user, struct log *log)
{
	struct daemon *daemon = user;
	struct err why = {0};

	if (strncmp(log_id(log), "run_", 4) != 0 || log_is_over(log) ||
	    served_find(&daemon->engine, log_id(log)) != NULL)
		return;
	/* Allowed or not, the held run had not begun and never will. */
	if (run_log_was_held(log)) {
		run_bury_held(daemon->engine.pool, log, run_log_left(&daemon->engine, log),
			      "the daemon ended before the held run began; nothing ran");
		return;
	}
	if (run_log_had_begun(log))
		(void)err_set(&why, ERR_INTERNAL, ECANCELED,
			      "the run was cut off: the daemon ended, and its sandbox too");
	else
		(void)err_set(&why, ERR_INTERNAL, ECANCELED,
			      "the daemon ended before this run began: nothing of it ran");
	run_bury(daemon->engine.pool, log, run_log_left(&daemon->engine, log), &why);
}

static void *served_of(void *user, struct log *log)
{
	return served_resume(user, log);
}

static void all_kept(void *user)
{
	struct daemon *daemon = user;
	const struct sessions_resume resume = {
		.calls = &served_calls,
		.user_of = served_of,
		.resumed = served_set_run,
		.user = &daemon->engine,
	};

	daemon->restarts = 0;
	sessions_attached(daemon->engine.sessions, &resume);
	logs_each(daemon->engine.logs, bury_orphan, daemon);
}

/* ---- when launch ends ---- */

/* Asks the minder or service manager to start another launch. A request made while the last launch
 * is still dying is lost, so each try asks again. */
static void wish(const struct daemon *daemon)
{
	if (daemon->stay.wish >= 0)
		(void)!write(daemon->stay.wish, "", 1);
}

static void restart_due(uv_timer_t *timer);

static void launch_lost(void *user, const struct err *why)
{
	struct daemon *daemon = user;
	uint32_t doublings =
		daemon->restarts < RESTART_DOUBLINGS ? daemon->restarts : RESTART_DOUBLINGS;

	log_event(LOG_LEVEL_ERROR, "launch.lost", "why=%s", why->text);
	daemon->engine.health_why = *why;
	if (!daemon->is_lost && !daemon->is_stopping)
		metrics_add(daemon->engine.metrics, METRIC_LAUNCH_RESTARTS, NULL, NULL, 1);
	daemon->is_lost = true;
	if (daemon->is_stopping)
		return; /* daemon_sweep takes care of it */
	wish(daemon);
	daemon->restarts++;
	/* Deferred: the pool is still in its calls about the loss. */
	(void)uv_timer_start(&daemon->restart, restart_due, RESTART_FIRST_MS << doublings, 0);
}

static const struct pool_kept_calls kept_calls = {
	.sandbox = sandbox_kept,
	.head = head_kept,
	.all = all_kept,
	.lost = launch_lost,
};

/* Keeps sandboxes of the most used kinds ready before the first request. */
static void keep_ready(struct daemon *daemon)
{
	const struct config *config = daemon->config;
	struct policy_grant grant = {0};
	struct err err = {0};
	const struct policy *policy = config_policy(config, "default", &err);
	const struct backend_host host = pool_host(daemon->engine.pool);
	const struct backend *backend = NULL;

	if (policy == NULL || policy_narrow(policy, NULL, &grant, &err) < 0)
		return;
	/* Where runs are done elsewhere, the import guard still checks them here. */
	if (backend_choose(&host, BACKEND_SESSION, policy->backend, false, &backend, &err) < 0 &&
	    backend_choose_local(&host, &backend, &err) < 0)
		return;
	for (size_t i = 0; i < config->runtime_count; i++) {
		const struct box_kind kind = {
			.backend = backend,
			.runtime = &config->runtimes[i],
			.trust = op_trust(policy, NULL),
			.plan = grant.plan,
		};

		warm_use(&daemon->engine, &kind);
	}
}

int daemon_open_pool(struct daemon *daemon, struct err *err)
{
	const struct pool_settings settings = {
		.stay = &daemon->stay,
		.kept = &kept_calls,
		.kept_user = daemon,
		.config = daemon->config,
		.remote = daemon->engine.remote,
	};
	int r = pool_new(&daemon->loop, &settings, &daemon->engine.pool, err);

	daemon->stay.connected = -1;
	if (r < 0)
		return r;
	daemon->is_lost = false;
	warm_forget(&daemon->engine);
	sessions_set_pool(daemon->engine.sessions, daemon->engine.pool);
	/* With tokens, each token has its own zygotes, made when it first runs something. */
	if (daemon->config->token_count == 0 && !daemon->is_stopping)
		keep_ready(daemon);
	return 0;
}

/* Connects to a new launch in place of the one that ended. */
static int replace_lost(struct daemon *daemon, struct err *err)
{
	struct pool *old = STEAL(daemon->engine.pool);

	sessions_set_pool(daemon->engine.sessions, NULL);
	pool_close(old);
	return daemon_open_pool(daemon, err);
}

static void restart_due(uv_timer_t *timer)
{
	struct daemon *daemon = timer->data;
	struct err err = {0};

	if (daemon->is_stopping)
		return;
	if (replace_lost(daemon, &err) < 0) {
		daemon->engine.health_why = err;
		launch_lost(daemon, &err);
	} else {
		log_event(LOG_LEVEL_INFO, "launch.start", "path=%s", daemon->stay.path);
	}
}

void daemon_sweep(struct daemon *daemon)
{
	struct err err = {0};
	int r = daemon->is_lost ? -ECHILD : 0;

	for (uint32_t i = 0; r < 0 && i < SWEEP_TRIES; i++) {
		uint64_t ms = RESTART_FIRST_MS << i;

		wish(daemon);
		(void)nanosleep(&(struct timespec){.tv_sec = (time_t)(ms / 1000),
						   .tv_nsec = (long)(ms % 1000) * 1000000L},
				NULL);
		r = replace_lost(daemon, &err);
	}
	if (r < 0)
		log_event(LOG_LEVEL_ERROR, "launch.sweep", "why=%s", err.text);
}
