// SPDX-License-Identifier: Apache-2.0
/* Processes that runs have left in a sandbox, once nothing runs in it any more. */
#include <errno.h>

#include "base/c.h"
#include "base/log.h"
#include "session/session_state.h"

#define LOOK_MS_MIN 1000U
#define LOOK_MS_MAX 30000U
#define BUSY_SHARE 10U /* an interpreter at rest that takes more than a tenth of a cpu is ended */

static bool is_working(const struct session *session)
{
	return session->state != SESSION_IDLE || session->run != NULL || session->coming != NULL ||
	       session->branch != NULL || session->needs_checkpoint ||
	       !LIST_EMPTY(&session->looks) || session_next_job(session) != NULL;
}

static bool is_due(const struct session *session)
{
	return (now_ns() - session->used_ns) / 1000000 >= session->policy->background_ms;
}

/* Is nobody at work in the sandbox, its branches included? What they have left cannot be told
 * apart. */
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

static void each_told(struct sessions *sessions, const struct sandbox *sandbox,
		      enum session_left left)
{
	struct session *session = NULL;

	for (size_t i = 0; i < SESSION_BUCKETS; i++) {
		LIST_FOREACH(session, &sessions->buckets[i], entry) {
			if (session->sandbox != sandbox)
				continue;
			session->left = left;
			/* A kick would be use: its rest would begin anew. */
			if (session_next_job(session) != NULL || !LIST_EMPTY(&session->looks) ||
			    session->state != SESSION_IDLE)
				session_kick(session);
			else
				session_arm(session);
		}
	}
}

static void counted(void *user, struct sandbox *sandbox, uint64_t left)
{
	each_told(user, sandbox, left > 0 ? LEFT_SOME : LEFT_NONE);
}

static void ended(void *user, struct sandbox *sandbox, uint64_t left)
{
	(void)left; /* launch ends a sandbox in which something cannot be ended */
	mark_heads(sandbox);
	each_told(user, sandbox, LEFT_ENDED);
}

void session_sweep(struct session *session, bool kills)
{
	struct err err = {0};

	session->is_put_off = !is_quiet(session, kills) ||
			      sandbox_sweep(session->sandbox, kills, kills ? ended : counted,
					    session->table, &err) < 0;
}

uint64_t session_look_ms(const struct session *session)
{
	uint64_t ms = session->policy->background_ms;

	return ms < LOOK_MS_MIN ? LOOK_MS_MIN : ms > LOOK_MS_MAX ? LOOK_MS_MAX : ms;
}

static void look_at(const struct session *session, struct head *head)
{
	uint64_t now_us = box_process_us(head->pid);
	uint64_t used_us = now_us > head->rest_us ? now_us - head->rest_us : 0;

	head->rest_us = now_us;
	if (used_us <= session_look_ms(session) * 1000 / BUSY_SHARE)
		return;
	log_event(LOG_LEVEL_WARNING, "session.left", "session=%s head=%u cpu_ms=%llu why=%s",
		  session->id, head->number, (unsigned long long)(used_us / 1000),
		  "it computes though nothing runs, and is ended");
	head_drop(head);
}

void session_watch_left(struct session *session)
{
	struct checkpoint *checkpoint = NULL;

	if (session->head != NULL)
		look_at(session, session->head);
	TAILQ_FOREACH(checkpoint, &session->checkpoints, entry)
		look_at(session, checkpoint->head);
}
