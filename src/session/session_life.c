// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "base/log.h"
#include "session/session_state.h"

#define FREEZE_TRIES 100U
#define FREEZE_AGAIN_MS 20U
#define KEEP_AGAIN_MS 500U /* its time is over, and a state is still on its way to disk */
#define WARN_MS 60000U     /* before its end a session says so */
#define PUT_OFF_MS 1000U   /* until what could not be done at rest is tried again */
#define WARN_SHARE 4U      /* but not before it has had three quarters of a short life */

static uint64_t age_ms(uint64_t since_ns)
{
	return (now_ns() - since_ns) / 1000000;
}

/* Milliseconds until it ends, by whichever lifetime is over first. A run is no rest. */
static uint64_t left_ms(const struct session *session, const char **ret_which)
{
	uint64_t idle = age_ms(session->used_ns);
	uint64_t age = age_ms(session->created_ns);
	bool has_work = session->run != NULL || !TAILQ_EMPTY(&session->jobs);
	uint64_t idle_left = has_work                  ? UINT64_MAX
			     : idle < session->idle_ms ? session->idle_ms - idle
						       : 0;
	uint64_t ttl_left = age < session->ttl_ms ? session->ttl_ms - age : 0;

	*ret_which = idle_left <= ttl_left ? "idle_ms" : "ttl_ms";
	return idle_left <= ttl_left ? idle_left : ttl_left;
}

static uint64_t warn_ms(const struct session *session, const char *which)
{
	uint32_t life = strcmp(which, "idle_ms") == 0 ? session->idle_ms : session->ttl_ms;

	return life / WARN_SHARE < WARN_MS ? life / WARN_SHARE : WARN_MS;
}

static void warn(struct session *session, uint64_t left, const char *which)
{
	char members[128];

	session->is_warned = true;
	(void)snprintf(members, sizeof(members), ",\"limit\":\"%s\",\"left_ms\":%llu", which,
		       (unsigned long long)left);
	session_tell(session, "warning", members);
}

static bool may_freeze(const struct session *session)
{
	const struct backend_facts *facts =
		session->table->pool != NULL && session->sandbox != NULL
			? pool_facts(session->table->pool, session->sandbox->backend)
			: NULL;

	return session->state == SESSION_IDLE && facts != NULL && facts->can_freeze &&
	       session->table->settings.freeze_ms > 0 && session->sandbox->sessions == 1 &&
	       session->coming == NULL && session->run == NULL && LIST_EMPTY(&session->looks) &&
	       session_next_job(session) == NULL && !session->needs_checkpoint &&
	       !session_keep_is_due(session) && session->sandbox->swept == NULL;
}

static void frozen(void *user, const struct err *why)
{
	session_frozen(user, why);
}

static int send_freeze(struct session *session, bool is_on, struct err *err)
{
	return sandbox_freeze(session->sandbox, is_on, frozen, session, err);
}

static void freeze(struct session *session)
{
	struct err err = {0};
	struct checkpoint *current = session_find_checkpoint(session, session->current);

	/* States without a name will not be asked for: one way back is enough for a sleeper. And
	 * the head is that state, in memory of its own: the checkpoint forks another when it wakes.
	 */
	session_trim_checkpoints(session, 1);
	if (current != NULL && session->blocker[0] == '\0' && !session->files_dirty)
		head_free(STEAL(session->head));
	(void)send_freeze(session, true, &err); /* a wire that is gone is told of by itself */
	session->state = SESSION_FREEZING;
	session->freeze_tries = 0;
	session_record(session);
}

void session_thaw(struct session *session)
{
	struct err err = {0};

	session->state = SESSION_THAWING;
	if (send_freeze(session, false, &err) < 0)
		session_lose(session, &err);
}

static void freeze_again(uv_timer_t *timer)
{
	struct session *session = timer->data;
	struct err err = {0};

	if (session->state == SESSION_FREEZING)
		(void)send_freeze(session, true, &err);
}

void session_frozen(struct session *session, const struct err *why)
{
	struct checkpoint *last = session_last_checkpoint(session);

	/* Heads that were let go of are still ending: launch stops nothing before that. */
	if (session->state == SESSION_FREEZING && why->kind == ERR_CONFLICT &&
	    session->freeze_tries++ < FREEZE_TRIES) {
		(void)uv_timer_start(&session->guard, freeze_again, FREEZE_AGAIN_MS, 0);
		return;
	}
	if (session->state == SESSION_FREEZING) {
		session->state = why->kind == ERR_NONE ? SESSION_FROZEN : SESSION_THAWING;
		if (why->kind == ERR_NONE)
			session_tell(session, "frozen", "");
		session_record(session);
	} else if (session->state == SESSION_THAWING) {
		session_tell(session, "thawed", "");
	}
	if (session->state == SESSION_THAWING && session->head == NULL && last != NULL) {
		session_roll_back(session, last);
		return;
	}
	if (session->state == SESSION_THAWING) {
		session->state = SESSION_IDLE;
		session_record(session);
	}
	session_kick(session);
}

/* A session at rest: what runs have left goes on for a while, then all of it is frozen, or, where
 * that cannot be, what is no interpreter is ended. Launch says what there is: a runner could say
 * what it likes. */
static void rest_on(struct session *session)
{
	uint64_t idle = age_ms(session->used_ns);
	bool is_over = idle >= session->policy->background_ms;
	bool may = may_freeze(session) && idle >= session->table->settings.freeze_ms;

	if (session->state != SESSION_IDLE || session->sandbox == NULL)
		return;
	if (may && (is_over || session->left == LEFT_NONE || session->left == LEFT_ENDED))
		freeze(session);
	else if (may && session->left == LEFT_UNKNOWN)
		session_sweep(session, false);
	else if (session->left == LEFT_ENDED)
		session_watch_left(session);
	else if (is_over)
		session_sweep(session, true);
}

/* In how many milliseconds that is due. */
static uint64_t rest_due_ms(const struct session *session)
{
	uint64_t idle = age_ms(session->used_ns);
	uint64_t freeze_ms = session->table->settings.freeze_ms;
	uint64_t background_ms = session->policy->background_ms;
	uint64_t due =
		session->left == LEFT_ENDED ? idle + session_look_ms(session) : background_ms;

	if (session->state != SESSION_IDLE || session->sandbox == NULL ||
	    session->sandbox->swept != NULL)
		return UINT64_MAX;
	if (may_freeze(session) && session->left != LEFT_SOME && freeze_ms < due)
		due = freeze_ms;
	/* It was due, and could not be done: another session of the sandbox is at work. */
	if (due <= idle && session->is_put_off)
		return PUT_OFF_MS;
	return due > idle ? due - idle : 0;
}

/* When the clock matters next: rest, the warning, the end. */
void session_arm(struct session *session)
{
	const char *which = NULL;
	uint64_t next = left_ms(session, &which);
	uint64_t rest = rest_due_ms(session);

	if (!session->is_warned)
		next -= next > warn_ms(session, which) ? warn_ms(session, which) : next;
	next = rest < next ? rest : next;
	(void)uv_timer_start(&session->timer, session_timer_due, next + 1, 0);
}

/* One that is kept sleeps, as soon as what it is now is on disk. */
static void end_of_life(struct session *session, const char *which)
{
	struct err why = {0};

	log_event(LOG_LEVEL_INFO, "session.end", "session=%s limit=%s", session->id, which);
	if (session->state == SESSION_IDLE && session_keep_is_due(session)) {
		session->keep_at_ns = 0;
		session_keep(session);
		(void)uv_timer_start(&session->timer, session_timer_due, KEEP_AGAIN_MS, 0);
		return;
	}
	(void)err_set(&why, ERR_CONFLICT, ETIMEDOUT, "its time was over (%s)", which);
	if (session_can_sleep(session) && session->reload == NULL)
		session_sleep(session, &why);
	else
		session_close(session);
}

void session_timer_due(uv_timer_t *timer)
{
	struct session *session = timer->data;
	const char *which = NULL;
	uint64_t left = left_ms(session, &which);

	if (session->state == SESSION_ASLEEP)
		return;
	if (left == 0) {
		end_of_life(session, which);
		return;
	}
	if (left <= warn_ms(session, which) && !session->is_warned)
		warn(session, left, which);
	rest_on(session);
	session_arm(session);
}

void session_wake(struct session *session)
{
	session->used_ms = wall_ms();
	session->used_ns = now_ns();
	session->is_warned = false;
	session->left = LEFT_UNKNOWN;
	if (session->sandbox != NULL && session->table->pool != NULL)
		pool_rest(session->table->pool, session->sandbox, false);
	if (!session->is_ended)
		session_arm(session); /* its whole life goes on while it works */
}

void session_rest(struct session *session)
{
	if (session->is_ended || session->state == SESSION_ASLEEP)
		return;
	session->used_ns = now_ns();
	if (session->sandbox != NULL && session->table->pool != NULL &&
	    session->sandbox->sessions == 1)
		pool_rest(session->table->pool, session->sandbox, true);
	session_arm(session);
}
