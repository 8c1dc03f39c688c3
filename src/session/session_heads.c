// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "base/log.h"
#include "session/session_state.h"

/* ---- checkpoints ---- */

struct checkpoint *session_find_checkpoint(const struct session *session, const char *id)
{
	struct checkpoint *checkpoint = NULL;

	TAILQ_FOREACH(checkpoint, &session->checkpoints, entry) {
		if (strcmp(checkpoint->id, id) == 0)
			return checkpoint;
	}
	return NULL;
}

/* The one to go back to: where the head came from, or the newest that is left. */
struct checkpoint *session_last_checkpoint(const struct session *session)
{
	struct checkpoint *current = session_find_checkpoint(session, session->current);

	if (current == NULL)
		current = TAILQ_LAST(&session->checkpoints, checkpoint_list);
	return current;
}

/* User code can take away what the runner stands on, and the checkpoint behind that run has the
 * damage in it. Where the runner fails before the code that checkpoint is damaged, where it fails
 * behind the code once more, it is, too: then the one before it is gone back to. */
struct checkpoint *session_sound_checkpoint(const struct session *session)
{
	struct checkpoint *last = session_last_checkpoint(session);
	enum testimony_failed failed = session->run != NULL ? run_failed(session->run) : FAILED_NOT;
	struct checkpoint *parent = NULL;

	if (last == NULL || failed == FAILED_NOT || session->since_count > 0 ||
	    (failed == FAILED_END && strcmp(session->suspect, last->id) != 0))
		return last;
	parent = session_find_checkpoint(session, last->parent);
	return parent != NULL ? parent : TAILQ_PREV(last, checkpoint_list, entry);
}

void session_free_checkpoint(struct session *session, struct checkpoint *checkpoint)
{
	TAILQ_REMOVE(&session->checkpoints, checkpoint, entry);
	head_free(checkpoint->head);
	free(checkpoint->name);
	free(checkpoint);
}

void session_trim_checkpoints(struct session *session, uint32_t keep)
{
	struct checkpoint *checkpoint = NULL;
	struct checkpoint *next = NULL;
	uint32_t unnamed = 0;

	TAILQ_FOREACH(checkpoint, &session->checkpoints, entry)
		unnamed += checkpoint->name == NULL;
	for (checkpoint = TAILQ_FIRST(&session->checkpoints); checkpoint != NULL && unnamed > keep;
	     checkpoint = next) {
		next = TAILQ_NEXT(checkpoint, entry);
		if (checkpoint->name != NULL || strcmp(checkpoint->id, session->current) == 0 ||
		    checkpoint->head->forking != NULL)
			continue;
		session_free_checkpoint(session, checkpoint);
		unnamed--;
	}
}

/* ---- a fork that is on its way ---- */

static int start_fork(struct session *session, struct head *parent, struct err *err)
{
	int r = head_fork(parent, false, NULL, NULL, &session_head_calls, session, &session->coming,
			  err);

	if (r == 0)
		(void)uv_timer_start(&session->guard, session_fork_late, SESSION_FORK_MS, 0);
	return r;
}

void session_tell_dead(struct session *session)
{
	if (session->dead == NULL)
		return;
	if (session->run != NULL)
		run_exited(session->run, session->has_dead_facts ? &session->dead_facts : NULL,
			   &session->dead_why);
	head_free(STEAL(session->dead));
}

void session_settle(struct session *session, const char *checkpoint, const struct err *why)
{
	(void)uv_timer_stop(&session->guard);
	session_tell_dead(session);
	session->state = SESSION_IDLE;
	session_record(session);
	if (session->now != NULL)
		session_finish_job(session, checkpoint, why);
	session_kick(session);
}

static void skip_checkpoint(struct session *session, const struct err *why)
{
	struct err told = *why;

	(void)snprintf(session->blocker, sizeof(session->blocker), "%.255s", why->text);
	session->next[0] = '\0';
	if (why->kind == ERR_CONFLICT)
		(void)err_wrap(&told, "a checkpoint is blocked by");
	session_settle(session, "", &told);
}

void session_make_checkpoint(struct session *session)
{
	struct err err = {0};

	session_wake(session);
	session->needs_checkpoint = false;
	session->state = SESSION_FORKING;
	if (start_fork(session, session->head, &err) < 0)
		skip_checkpoint(session, &err);
}

static bool shares_files(const struct session *session)
{
	return session->sandbox->sessions > 1;
}

/* The parent is a checkpoint from now on, the child the head. */
static void checkpoint_made(struct session *session)
{
	struct checkpoint *checkpoint = xnew(struct checkpoint);
	bool has_files = session->files_dirty || session->files == FILES_SAVED;
	struct err err = {0};

	memcpy(checkpoint->id, session->next, sizeof(checkpoint->id));
	memcpy(checkpoint->parent, session->current, sizeof(checkpoint->parent));
	memcpy(checkpoint->run, session->last_run, sizeof(checkpoint->run));
	checkpoint->created_ms = wall_ms();
	checkpoint->memory = session->memory;
	checkpoint->files_version = session->files_version;
	checkpoint->head = session->head;
	checkpoint->files = has_files ? FILES_SKIPPED : FILES_NONE;
	if (session->now != NULL && session->now->kind == JOB_CHECKPOINT)
		checkpoint->name = STEAL(session->now->name);
	TAILQ_INSERT_TAIL(&session->checkpoints, checkpoint, entry);
	memcpy(session->current, checkpoint->id, sizeof(session->current));
	session->head = STEAL(session->coming);
	session->blocker[0] = '\0';
	session->since_count = 0;
	/* Checkpoints are paid for by the session: when its memory gets short, one way back is
	 * worth more than eight. */
	session_trim_checkpoints(session, session->memory > session->kind.plan.memory / 2
						  ? 1
						  : session->table->settings.checkpoints_max);
	if (has_files && !shares_files(session) && head_save(checkpoint->head, &err) == 0)
		return; /* settled when launch has the copies */
	session_settle(session, checkpoint->id, NULL);
}

static void files_saved(void *user, struct head *head, const struct err *why)
{
	struct session *session = user;
	struct checkpoint *checkpoint = session_find_checkpoint(session, session->current);

	if (session->state != SESSION_FORKING || checkpoint == NULL || checkpoint->head != head)
		return;
	checkpoint->files = why->kind == ERR_NONE ? FILES_SAVED : FILES_SKIPPED;
	session->files = checkpoint->files;
	session->files_dirty = false;
	if (why->kind != ERR_NONE)
		log_event(LOG_LEVEL_INFO, "session.files", "session=%s why=%s", session->id,
			  why->text);
	session_settle(session, checkpoint->id, NULL);
}

/* ---- back ---- */

void session_roll_back(struct session *session, struct checkpoint *checkpoint)
{
	struct err err = {0};

	session_wake(session);
	session->state = SESSION_ROLLING;
	session->needs_checkpoint = false;
	head_free(STEAL(session->head));
	head_free(STEAL(session->coming));
	memcpy(session->current, checkpoint->id, sizeof(session->current));
	if (checkpoint->head->forking != NULL)
		(void)uv_timer_start(&session->guard, session_fork_late, SESSION_FORK_MS, 0);
	else if (start_fork(session, checkpoint->head, &err) < 0)
		session_lose(session, &err);
}

/* Which state it is, which runs are undone, and why it is no newer one. */
static void tell_back(struct session *session, const struct checkpoint *to)
{
	struct buf members;

	buf_init(&members, RUN_LEFT_MAX);
	(void)buf_format(&members, ",\"checkpoint\":\"%s\"", to->id);
	(void)buf_append(&members, session->back.data, session->back.size);
	session_tell(session, "rolled_back", buf_string(&members));
	buf_done(&members);
}

/* Whatever was being made of the state that is gone will not come. */
static void go_back(struct session *session, struct checkpoint *to, const struct err *why)
{
	session_drop_branch(session);
	if (session->now != NULL && session->now->kind != JOB_RUN)
		session_finish_job(session, "", why);
	session->files_version = 0;
	session_note_back(session, to);
	tell_back(session, to);
	session_roll_back(session, to);
}

/* The checkpoint that the session is going back to does not fork, as user code may have made it do:
 * it costs that checkpoint, and the next older one takes its place. */
static void back_further(struct session *session, const struct err *why)
{
	struct checkpoint *broken = session_find_checkpoint(session, session->current);
	struct checkpoint *older = NULL;
	char run[ID_SIZE] = "";

	head_free(STEAL(session->coming));
	if (broken != NULL) {
		log_event(LOG_LEVEL_WARNING, "session.checkpoint",
			  "session=%s checkpoint=%s why=%s", session->id, broken->id, why->text);
		memcpy(run, broken->run, sizeof(run));
		session_free_checkpoint(session, broken);
	}
	older = TAILQ_LAST(&session->checkpoints, checkpoint_list);
	if (older == NULL || session->sandbox->is_ending) {
		session_lose(session, why);
		return;
	}
	if (strcmp(run, older->run) != 0)
		session_note_lost_run(session, run);
	go_back(session, older, why);
}

void session_fork_late(uv_timer_t *timer)
{
	struct session *session = timer->data;
	struct err why = {0};

	if (session->coming == NULL && session->state != SESSION_FORKING &&
	    session->state != SESSION_ROLLING)
		return;
	/* Whoever does not fork when told will not run anything either. */
	(void)err_set(&why, ERR_CONFLICT, ETIMEDOUT, "the interpreter did not fork in %u s",
		      SESSION_FORK_MS / 1000);
	session_drop_branch(session);
	if (session->state == SESSION_ROLLING && session->head == NULL) {
		back_further(session, &why);
		return;
	}
	if (session->state == SESSION_FORKING && session->head != NULL) {
		session_finish_job(session, "", &why);
		head_free(STEAL(session->coming));
		head_drop(session->head);
		return;
	}
	session_lose(session, &why);
}

/* A look was being forked when the session had to go back: the checkpoint is through with that one,
 * and may fork the new head. */
void session_roll_on(struct session *session)
{
	struct checkpoint *checkpoint = session_find_checkpoint(session, session->current);
	struct err err = {0};

	if (session->state != SESSION_ROLLING || session->head != NULL || session->coming != NULL ||
	    checkpoint == NULL || checkpoint->head->forking != NULL)
		return;
	if (start_fork(session, checkpoint->head, &err) < 0)
		session_lose(session, &err);
}

/* The checkpoint ended while its child came up: variables are what they were, its copy of the files
 * is gone with it. */
static void settle_without(struct session *session)
{
	session->files = FILES_SKIPPED;
	session->files_dirty = true;
	id_new("cp_", session->next);
	session->needs_checkpoint = true;
	session_settle(session, session->current, NULL);
}

static void rolled_back(struct session *session)
{
	struct checkpoint *checkpoint = session_find_checkpoint(session, session->current);
	struct err err = {0};
	bool is_same;

	session->head = STEAL(session->coming);
	session->blocker[0] = '\0';
	session->since_count = 0;
	session_keep_place(session);
	if (checkpoint == NULL) {
		settle_without(session);
		return;
	}
	is_same = session->files_version > 0 && session->files_version == checkpoint->files_version;
	session->files = checkpoint->files;
	session->files_dirty = false;
	session->files_version = checkpoint->files_version;
	if (!is_same && checkpoint->files != FILES_SKIPPED && !shares_files(session) &&
	    head_restore(checkpoint->head, &err) == 0)
		return; /* settled when the files are back */
	session_settle(session, checkpoint->id, NULL);
}

static void files_restored(void *user, struct head *head, const struct err *why)
{
	struct session *session = user;

	(void)head;
	if (session->state != SESSION_ROLLING)
		return;
	if (why->kind != ERR_NONE) {
		log_event(LOG_LEVEL_WARNING, "session.files", "session=%s why=%s", session->id,
			  why->text);
		session->files_dirty = true;
	}
	session_settle(session, session->current, NULL);
}

/* ---- what heads tell ---- */

static void head_ready(void *user, struct head *head)
{
	struct session *session = user;

	if (head != session->coming)
		return;
	if (session->state == SESSION_FORKING)
		checkpoint_made(session);
	else if (session->state == SESSION_ROLLING)
		rolled_back(session);
}

static void head_failed(void *user, struct head *head, const struct err *why)
{
	struct session *session = user;
	struct err copy = *why;

	if (head == session->coming)
		session->coming = NULL;
	head_free(head);
	if (session->state == SESSION_FORKING)
		skip_checkpoint(session, &copy);
	else if (session->state == SESSION_ROLLING)
		back_further(session, &copy);
}

/* The runner failed in this run: which checkpoint it came from counts, and what is wrong with it.
 */
static void note_damage(struct session *session, const struct checkpoint *from,
			const struct checkpoint *to)
{
	memcpy(session->suspect, from->id, sizeof(session->suspect));
	if (from == to)
		return;
	session_note_lost_run(session, from->run);
	(void)snprintf(session->blocker, sizeof(session->blocker),
		       "the interpreter was damaged by then");
}

/* The head is gone, and with it what the run did: back to where it came from. */
static void lost_head(struct session *session, const struct err *why)
{
	struct checkpoint *last = session_last_checkpoint(session);
	struct checkpoint *sound = session_sound_checkpoint(session);
	struct err lost = *why;

	if (last == NULL || session->sandbox->is_ending) {
		if (lost.kind == ERR_NONE)
			(void)err_set(&lost, ERR_CONFLICT, ECHILD,
				      "the interpreter ended, and there is no checkpoint");
		session_lose(session, &lost);
		return;
	}
	(void)err_set(&lost, ERR_CONFLICT, ECHILD,
		      "the interpreter ended; the session is back at its last checkpoint");
	if (session->run != NULL && run_failed(session->run) != FAILED_NOT && sound != NULL) {
		note_damage(session, last, sound);
		last = sound;
	}
	go_back(session, last, &lost);
}

static void session_head_exited(void *user, struct head *head, const struct box_exit *facts,
				const struct err *why)
{
	struct session *session = user;
	struct checkpoint *checkpoint = NULL;
	struct err copy = *why;

	if (head == session->head) {
		session->head = NULL;
		if (session->run == NULL) {
			head_free(head);
		} else {
			session->dead = head;
			session->has_dead_facts = facts != NULL;
			if (facts != NULL)
				session->dead_facts = *facts;
			session->dead_why = *why;
			run_note_death(session->run, facts);
		}
		if (session->state != SESSION_LOST && session->state != SESSION_CLOSED)
			lost_head(session, &copy);
		return;
	}
	TAILQ_FOREACH(checkpoint, &session->checkpoints, entry) {
		if (checkpoint->head == head)
			break;
	}
	if (checkpoint == NULL) {
		head_free(head);
		return;
	}
	/* A checkpoint that died can not be gone back to; its child lives on. */
	log_event(LOG_LEVEL_WARNING, "session.checkpoint", "session=%s checkpoint=%s why=it ended",
		  session->id, checkpoint->id);
	if (session->coming != NULL && session->coming->is_cut &&
	    session->coming->parent == head->number)
		head_free(STEAL(session->coming)); /* nobody is left to say why */
	session_free_checkpoint(session, checkpoint);
	if (session->head != NULL || session->coming != NULL)
		return;
	if (copy.kind == ERR_NONE)
		(void)err_set(&copy, ERR_CONFLICT, ECHILD, "its last checkpoint ended");
	if (session->state == SESSION_ROLLING &&
	    session_find_checkpoint(session, session->current) == NULL)
		back_further(session, &copy);
	else if (session_last_checkpoint(session) == NULL)
		session_lose(session, &copy);
}

static void session_head_ended(void *user, struct head *head, const struct box_exit *facts)
{
	struct session *session = user;

	if (head == session->head && session->run != NULL)
		run_ended(session->run, facts);
}

static void head_forked_one(void *user, struct head *head)
{
	(void)head;
	session_kick(user); /* somebody else may be waiting to fork it */
}

const struct head_calls session_head_calls = {
	.forked = head_forked_one,
	.ready = head_ready,
	.failed = head_failed,
	.exited = session_head_exited,
	.ended = session_head_ended,
	.saved = files_saved,
	.restored = files_restored,
};
