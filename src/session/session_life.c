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
/* At the end of a lifetime: how often to check whether the last state is on disk. */
#define KEEP_AGAIN_MS 500U
#define WARN_MS 60000U   /* the warning comes this long before the end */
#define PUT_OFF_MS 1000U /* until a sweep that was put off is tried again */
#define LOOK_MS_MIN 1000U
#define LOOK_MS_MAX 30000U
#define BUSY_SHARE 10U /* an interpreter at rest that takes more than a tenth of a cpu is ended */
#define WARN_SHARE 4U  /* no warning before three quarters of a lifetime are over */

static uint64_t age_ms(uint64_t since_ns)
{
	return (now_ns() - since_ns) / 1000000;
}

/* Milliseconds until the session ends: the shorter of the two lifetimes. It is not idle while it
 * has work. */
static uint64_t left_ms(const struct session *session, const char **ret_which)
{
	uint64_t idle = age_ms(session->life.used_ns);
	uint64_t age = age_ms(session->life.created_ns);
	bool has_work = session->run != NULL || !TAILQ_EMPTY(&session->jobs);
	uint64_t idle_left = has_work                       ? UINT64_MAX
			     : idle < session->life.idle_ms ? session->life.idle_ms - idle
							    : 0;
	uint64_t ttl_left = age < session->life.ttl_ms ? session->life.ttl_ms - age : 0;

	*ret_which = idle_left <= ttl_left ? "idle_ms" : "ttl_ms";
	return idle_left <= ttl_left ? idle_left : ttl_left;
}

static uint64_t warn_ms(const struct session *session, const char *which)
{
	uint32_t life =
		strcmp(which, "idle_ms") == 0 ? session->life.idle_ms : session->life.ttl_ms;

	return life / WARN_SHARE < WARN_MS ? life / WARN_SHARE : WARN_MS;
}

static void warn(struct session *session, uint64_t left, const char *which)
{
	char members[128];

	session->life.stage = LIFE_WARNED;
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
	       session_next_job(session) == NULL && session->states.next[0] == '\0' &&
	       !session_keep_is_due(session) && session->sandbox->swept == NULL;
}

static void frozen(void *user, const struct err *why);

static int send_freeze(struct session *session, bool is_on, struct err *err)
{
	return sandbox_freeze(session->sandbox, is_on, frozen, session, err);
}

static void freeze(struct session *session)
{
	struct err err = {0};
	struct checkpoint *current = states_current(&session->states);

	/* A frozen session keeps only its last checkpoint and those with a name. The head, if it is
	 * equal to that checkpoint, is freed as well: the checkpoint forks another one after the
	 * thaw. */
	session_trim_checkpoints(session, 1);
	if (current != NULL && session->states.blocker[0] == '\0' && !session->files.is_dirty)
		head_free(STEAL(session->head));
	(void)send_freeze(session, true,
			  &err); /* if the backend is gone, the sandbox's end is reported anyway */
	session->state = SESSION_FREEZING;
	session->life.freeze_tries = 0;
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

static void frozen(void *user, const struct err *why)
{
	struct session *session = user;
	struct checkpoint *last = states_last(&session->states);

	/* The backend does not freeze a sandbox while freed heads are still ending. */
	if (session->state == SESSION_FREEZING && why->kind == ERR_CONFLICT &&
	    session->life.freeze_tries++ < FREEZE_TRIES) {
		(void)uv_timer_start(&session->timers[TIMER_GUARD], freeze_again, FREEZE_AGAIN_MS,
				     0);
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

/* ---- processes that runs have left ---- */

static bool is_working(const struct session *session)
{
	return session->state != SESSION_IDLE || session->run != NULL || session->coming != NULL ||
	       session->branch != NULL || session->states.next[0] != '\0' ||
	       !LIST_EMPTY(&session->looks) || session_next_job(session) != NULL;
}

static bool is_due(const struct session *session)
{
	return (now_ns() - session->life.used_ns) / 1000000 >= session->policy->background_ms;
}

/* Is no code running in the sandbox? Branches count, since it is not known which session a process
 * belongs to. */
static bool is_quiet(const struct session *session, bool kills)
{
	const struct sessions *table = session->table;
	const struct session *other = NULL;

	for (size_t i = 0; i < SESSION_BUCKETS && session->sandbox->sessions > 1; i++) {
		LIST_FOREACH(other, &table->buckets[i], entry) {
			if (other->sandbox == session->sandbox &&
			    (is_working(other) || (kills && !is_due(other))))
				return false;
		}
	}
	return !is_working(session);
}

static void mark_heads(const struct sandbox *sandbox)
{
	for (size_t i = 0; i < BOX_HEADS_MAX; i++) {
		if (sandbox->heads[i] != NULL)
			sandbox->heads[i]->rest_us = box_process_us(sandbox->heads[i]->pid);
	}
}

static void arm(struct session *session);

static void each_told(struct sessions *sessions, const struct sandbox *sandbox,
		      enum session_left left)
{
	struct session *session = NULL;

	for (size_t i = 0; i < SESSION_BUCKETS; i++) {
		LIST_FOREACH(session, &sessions->buckets[i], entry) {
			if (session->sandbox != sandbox)
				continue;
			session->life.left = left;
			/* A kick would count as use and restart the idle time. */
			if (session_next_job(session) != NULL || !LIST_EMPTY(&session->looks) ||
			    session->state != SESSION_IDLE)
				session_kick(session);
			else
				arm(session);
		}
	}
}

static void counted(void *user, struct sandbox *sandbox, uint64_t left)
{
	each_told(user, sandbox, left > 0 ? LEFT_SOME : LEFT_NONE);
}

static void ended(void *user, struct sandbox *sandbox, uint64_t left)
{
	(void)left; /* always 0: a sandbox with a process that cannot be ended is ended itself */
	mark_heads(sandbox);
	each_told(user, sandbox, LEFT_ENDED);
}

static void sweep(struct session *session, bool kills)
{
	struct err err = {0};

	session->life.is_put_off = !is_quiet(session, kills) ||
				   sandbox_sweep(session->sandbox, kills, kills ? ended : counted,
						 session->table, &err) < 0;
}

static uint64_t look_ms(const struct session *session)
{
	uint64_t ms = session->policy->background_ms;

	return ms < LOOK_MS_MIN ? LOOK_MS_MIN : ms > LOOK_MS_MAX ? LOOK_MS_MAX : ms;
}

static void look_at(const struct session *session, struct head *head)
{
	uint64_t now_us = box_process_us(head->pid);
	uint64_t used_us = now_us > head->rest_us ? now_us - head->rest_us : 0;

	head->rest_us = now_us;
	if (used_us <= look_ms(session) * 1000 / BUSY_SHARE)
		return;
	log_event(LOG_LEVEL_WARNING, "session.left", "session=%s head=%u cpu_ms=%llu why=%s",
		  session->id, head->number, (unsigned long long)(used_us / 1000),
		  "the interpreter uses the cpu although no run is under way, and is ended");
	head_drop(head);
}

static void watch_left(struct session *session)
{
	struct checkpoint *checkpoint = NULL;

	if (session->head != NULL)
		look_at(session, session->head);
	TAILQ_FOREACH(checkpoint, &session->states.live, entry)
		look_at(session, checkpoint->head);
}

/* ---- rest ---- */

/* An idle session: processes that runs left behind go on for a while, then the sandbox is frozen.
 * If it cannot be frozen, every process that is not a head is ended. The backend counts the
 * processes, since a runner could lie. */
static void rest_on(struct session *session)
{
	uint64_t idle = age_ms(session->life.used_ns);
	bool is_over = idle >= session->policy->background_ms;
	bool may = may_freeze(session) && idle >= session->table->settings.freeze_ms;

	if (session->state != SESSION_IDLE || session->sandbox == NULL)
		return;
	if (may && (is_over || session->life.left == LEFT_NONE || session->life.left == LEFT_ENDED))
		freeze(session);
	else if (may && session->life.left == LEFT_UNKNOWN)
		sweep(session, false);
	else if (session->life.left == LEFT_ENDED)
		watch_left(session);
	else if (is_over)
		sweep(session, true);
}

/* Milliseconds until rest_on has something to do. */
static uint64_t rest_due_ms(const struct session *session)
{
	uint64_t idle = age_ms(session->life.used_ns);
	uint64_t freeze_ms = session->table->settings.freeze_ms;
	uint64_t background_ms = session->policy->background_ms;
	uint64_t due = session->life.left == LEFT_ENDED ? idle + look_ms(session) : background_ms;

	if (session->state != SESSION_IDLE || session->sandbox == NULL ||
	    session->sandbox->swept != NULL)
		return UINT64_MAX;
	if (may_freeze(session) && session->life.left != LEFT_SOME && freeze_ms < due)
		due = freeze_ms;
	/* The sweep was due, but another session of the sandbox was running code. */
	if (due <= idle && session->life.is_put_off)
		return PUT_OFF_MS;
	return due > idle ? due - idle : 0;
}

static void timer_due(uv_timer_t *timer);

/* Sets the timer for whichever comes first: rest, the warning, the end. */
static void arm(struct session *session)
{
	const char *which = NULL;
	uint64_t next = left_ms(session, &which);
	uint64_t rest = rest_due_ms(session);

	if (session->life.stage == LIFE_GOES_ON)
		next -= next > warn_ms(session, which) ? warn_ms(session, which) : next;
	next = rest < next ? rest : next;
	(void)uv_timer_start(&session->timers[TIMER_LIFE], timer_due, next + 1, 0);
}

/* A session that is kept sleeps once its state is on disk; any other ends. */
static void end_of_life(struct session *session, const char *which)
{
	struct err why = {0};

	log_event(LOG_LEVEL_INFO, "session.end", "session=%s limit=%s", session->id, which);
	if (session->life.stage != LIFE_OVER)
		disk_try_again(&session->disk);
	session->life.stage = LIFE_OVER;
	/* Wait for a state that is being made: it is the one to write to disk. */
	if (session_is_kept(session) &&
	    (session->state == SESSION_FORKING || session->state == SESSION_ROLLING ||
	     (session->state == SESSION_IDLE && session_keep_is_due(session)))) {
		session->disk.not_before_ns = 0;
		session_keep(session);
		(void)uv_timer_start(&session->timers[TIMER_LIFE], timer_due, KEEP_AGAIN_MS, 0);
		return;
	}
	(void)err_set(&why, ERR_CONFLICT, ETIMEDOUT, "the session's time was over (%s)", which);
	if (session_can_sleep(session) && session->disk.reload == NULL)
		session_sleep(session, &why);
	else
		session_end(session, why.text);
}

static void timer_due(uv_timer_t *timer)
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
	if (left <= warn_ms(session, which) && session->life.stage == LIFE_GOES_ON)
		warn(session, left, which);
	rest_on(session);
	arm(session);
}

void session_wake(struct session *session)
{
	session->life.used_ms = wall_ms();
	session->life.used_ns = now_ns();
	session->life.stage = LIFE_GOES_ON;
	session->life.left = LEFT_UNKNOWN;
	if (session->sandbox != NULL && session->table->pool != NULL)
		pool_rest(session->table->pool, session->sandbox, false);
	if (session->state != SESSION_CLOSED)
		arm(session); /* ttl_ms also counts while the session runs code */
}

void session_rest(struct session *session)
{
	if (session->state == SESSION_CLOSED || session->state == SESSION_ASLEEP)
		return;
	session->life.used_ns = now_ns();
	if (session->sandbox != NULL && session->table->pool != NULL &&
	    session->sandbox->sessions == 1)
		pool_rest(session->table->pool, session->sandbox, true);
	arm(session);
}
