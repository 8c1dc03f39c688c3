// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "daemon/daemon_state.h"

struct counts {
	double states[SESSION_CLOSED + 1];
	double memory;
};

static void count_session(void *user, struct session *session)
{
	struct counts *counts = user;

	counts->states[session_state(session)]++;
	counts->memory += (double)session_memory(session);
}

/* A runtime has one pool per plan, but a single series for all of them. */
static void clear_pool(void *user, const struct box_kind *kind, uint32_t keep, uint32_t ready,
		       uint32_t coming, const struct err *why)
{
	struct metrics *metrics = user;

	(void)keep;
	(void)ready;
	(void)coming;
	(void)why;
	metrics_set(metrics, METRIC_POOL_READY, kind->runtime->name, NULL, 0);
	metrics_set(metrics, METRIC_POOL_COMING, kind->runtime->name, NULL, 0);
}

static void add_pool(void *user, const struct box_kind *kind, uint32_t keep, uint32_t ready,
		     uint32_t coming, const struct err *why)
{
	struct metrics *metrics = user;

	(void)keep;
	(void)why;
	metrics_add(metrics, METRIC_POOL_READY, kind->runtime->name, NULL, ready);
	metrics_add(metrics, METRIC_POOL_COMING, kind->runtime->name, NULL, coming);
}

int daemon_metrics(void *user, struct buf *buf)
{
	struct daemon *daemon = user;
	struct metrics *metrics = daemon->engine.metrics;
	struct admission_counts admitted = admission_counts(daemon->engine.admission);
	struct counts live = {0};
	const double *states = live.states;

	sessions_each(daemon->engine.sessions, count_session, &live);
	metrics_set(metrics, METRIC_MEMORY, NULL, NULL, live.memory);
	metrics_set(metrics, METRIC_SESSIONS, "idle", NULL,
		    states[SESSION_IDLE] + states[SESSION_FORKING] + states[SESSION_ROLLING] +
			    states[SESSION_STARTING]);
	metrics_set(metrics, METRIC_SESSIONS, "running", NULL, states[SESSION_RUNNING]);
	metrics_set(metrics, METRIC_SESSIONS, "frozen", NULL,
		    states[SESSION_FROZEN] + states[SESSION_FREEZING] + states[SESSION_THAWING]);
	metrics_set(metrics, METRIC_SESSIONS, "lost", NULL, states[SESSION_LOST]);
	metrics_set(metrics, METRIC_RUNS_RUNNING, NULL, NULL, (double)admitted.running);
	metrics_set(metrics, METRIC_RUNS_HELD, NULL, NULL, (double)admitted.held);
	metrics_set(metrics, METRIC_RUNS_WAITING, NULL, NULL, (double)admitted.waiting);
	metrics_set(metrics, METRIC_HTTP_CONNECTIONS, NULL, NULL, http_connections(daemon->http));
	metrics_set(metrics, METRIC_JOURNAL, NULL, NULL, (double)journal_disk(daemon->journal));
	if (daemon->engine.audit != NULL)
		metrics_set(metrics, METRIC_AUDIT_LOST, NULL, NULL,
			    (double)audit_lost(daemon->engine.audit));
	if (daemon->engine.pool != NULL) {
		metrics_set(metrics, METRIC_SANDBOXES, NULL, NULL,
			    pool_sandboxes(daemon->engine.pool));
		pool_each(daemon->engine.pool, clear_pool, metrics);
		pool_each(daemon->engine.pool, add_pool, metrics);
	}
	return metrics_put(metrics, buf);
}
