// SPDX-License-Identifier: Apache-2.0
/* A run that waits for a person, or for its turn among all runs. What it will do is in its payload,
 * sealed: nothing of it can change any more, and none of it has been sent anywhere. */
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "policy/number.h"
#include "session/run_state.h"

/* uv's clock is the monotonic one: a clock that is set denies nothing early or late. */
static void hold_due(uv_timer_t *timer)
{
	struct run *run = timer->data;
	char message[128];
	char time[32];

	number_format(NUMBER_MS, uv_timer_get_repeat(timer), time, sizeof(time));
	(void)snprintf(message, sizeof(message), "nobody allowed it within %s; nothing ran", time);
	run_deny(run, message);
}

int run_keep_held(struct run *run, const struct run_request *request, struct err *err)
{
	int r = 0;

	if (request->guard_runtime != NULL && !request->is_command)
		r = payload_check(request, run->nonce, &run->held_check, err);
	if (r < 0)
		return r;
	run->held_guard_runtime = request->is_command ? NULL : request->guard_runtime;
	run->held_kind = request->kind;
	run->held_kind.trust = xstrdup(request->kind.trust);
	run->held_kind.data = xstrdup(request->kind.data);
	run->is_held = true;
	if (request->held_ms > 0)
		(void)uv_timer_start(&run->timer, hold_due, request->held_ms, request->held_ms);
	return 0;
}

void run_held_done(struct run *run)
{
	payload_done(&run->held_check);
	run->held_check.memfd = -1;
	free((char *)(uintptr_t)run->held_kind.trust);
	free((char *)(uintptr_t)run->held_kind.data);
	run->held_kind = (struct box_kind){0};
}

bool run_is_held(const struct run *run)
{
	return run->is_held && run->state != RUN_OVER;
}

static int ask_guard(struct run *run, struct err *err)
{
	struct box_kind kind = run->held_kind;

	if (run->held_guard_runtime == NULL)
		return 0;
	kind.runtime = run->held_guard_runtime;
	kind.data = NULL;
	if (guard_kind(run->pool, &kind, err) < 0)
		return -err->num;
	return guard_start(run->pool, &kind, &run->held_check, run->nonce, run_guard_answered, run,
			   &run->guard, err);
}

void run_allow_later(struct run *run)
{
	/* Of one that was cancelled the timer is its end. */
	if (!run->facts.is_cancelled)
		(void)uv_timer_stop(&run->timer);
}

void run_allow(struct run *run, struct pool *pool)
{
	struct err why = {0};
	int r;

	/* Cancelled a moment ago: the timer that ends it is due. */
	if (!run_is_held(run) || run->facts.is_cancelled)
		return;
	(void)uv_timer_stop(&run->timer);
	run->is_held = false;
	run->pool = pool;
	r = ask_guard(run, &why);
	if (r == 0 && run->elsewhere != NULL)
		run_go(run);
	else if (r == 0 && run->host == NULL)
		r = pool_take(pool, &run->held_kind, run_sandbox_taken, run, &run->ticket, &why);
	if (r < 0)
		run_fail_later(run, &why);
	else if (run->host != NULL)
		run->host->allowed(run->host_user, run);
}

void run_deny(struct run *run, const char *message)
{
	(void)uv_timer_stop(&run->timer);
	run->facts.is_denied = true;
	(void)snprintf(run->facts.denial, sizeof(run->facts.denial), "%s", message);
	run_finish(run);
}

void run_bury_held(struct pool *pool, struct log *log, enum run_left left, const char *message)
{
	static const struct run_calls nobody = {0};
	struct run *run = run_blank(pool, log_id(log), &nobody, NULL);

	run->log = log;
	run->keep_events = true;
	run->left = left;
	run->runtime = xstrdup("");
	run_deny(run, message);
	run_free(run);
}
