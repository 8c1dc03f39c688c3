// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "op/op.h"

#define PROBE_MS 20000U

/* Anyone may read /health, so the remote's address and its messages go only to the log. */
static void note_failure(struct daemon *daemon, const struct run_facts *facts)
{
	const char *kind = verdict_name(facts->verdict.kind);
	struct err why = {0};

	(void)err_set(&why, ERR_INTERNAL, EIO, "%s: %s", kind,
		      facts->is_claimed ? "the remote ran no code; the log says why"
					: facts->verdict.message);
	if (facts->is_claimed && strcmp(why.text, daemon->engine.health_why.text) != 0)
		log_event(LOG_LEVEL_WARNING, "backend.remote", "probe=%s why=%s", kind,
			  facts->verdict.message);
	daemon->engine.health_why = why;
}

/* Liveness that really ran code: when no client ran anything lately, the prober does. */
static void probe_done(void *user, struct run *run)
{
	struct daemon *daemon = user;
	struct run_facts facts = run_facts(run);

	if (facts.verdict.kind == VERDICT_OK) {
		daemon->engine.last_good_ms = now_ns() / 1000000;
		daemon->engine.health_why = (struct err){0};
	} else {
		note_failure(daemon, &facts);
	}
	run_free(run);
	daemon->probing = NULL;
}

void daemon_probe_due(uv_timer_t *timer)
{
	static const char code[] = "1 + 1";
	static const struct run_calls calls = {.done = probe_done};
	struct daemon *daemon = timer->data;
	struct run_request args = {
		.code = {.data = code, .size = sizeof(code) - 1, .fd = -1},
		.runtime = "bare",
		.is_probe = true,
	};
	uint64_t now = now_ns() / 1000000;
	struct err err = {0};

	/* A remote has its own names for runtimes. */
	if (strcmp(daemon_active(daemon), "remote") == 0)
		args.runtime = NULL;
	(void)uv_timer_start(timer, daemon_probe_due, PROBE_MS, 0);
	if (daemon->probing != NULL || daemon->engine.pool == NULL || daemon->is_stopping ||
	    (daemon->engine.last_good_ms > 0 && now - daemon->engine.last_good_ms < PROBE_MS))
		return;
	if (op_run_start(daemon->config, daemon->engine.pool, &args, &calls, daemon,
			 &daemon->probing, &err) < 0)
		daemon->engine.health_why = err;
}
