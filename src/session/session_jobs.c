// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/session_state.h"

#define JOBS_MAX 256U /* that wait in one session */

/* ---- jobs ---- */

struct job *session_add_job(struct session *session, enum job_kind kind, void *user)
{
	struct job *job = xnew(struct job);

	job->kind = kind;
	job->user = user;
	TAILQ_INSERT_TAIL(&session->jobs, job, entry);
	return job;
}

static void job_free(struct job *job)
{
	free(job->name);
	session_change_free(job->change);
	free(job);
}

static int check_room(const struct session *session, struct err *err)
{
	const struct job *job = NULL;
	uint32_t waiting = 0;

	if (session->state == SESSION_LOST || session->state == SESSION_CLOSED)
		return err_set(err, ERR_CONFLICT, ESTALE, "the session is lost: %s",
			       session->why.text);
	if (session->state == SESSION_ASLEEP && session->table->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, "viv-launch is being started again");
	TAILQ_FOREACH(job, &session->jobs, entry)
		waiting++;
	if (waiting >= JOBS_MAX)
		return err_set(err, ERR_BUSY, EAGAIN, "%u runs wait in this session already",
			       waiting);
	return 0;
}

int session_check_open(const struct session *session, struct err *err)
{
	if (session_is_changing(session))
		return err_set(err, ERR_CONFLICT, EBUSY,
			       "the session is being restarted with another policy or runtime; "
			       "ask again when that is answered");
	return check_room(session, err);
}

void session_finish_job(struct session *session, const char *checkpoint, const struct err *why)
{
	struct job *job = STEAL(session->now);

	if (job == NULL)
		return;
	if (job->done != NULL)
		job->done(job->user, checkpoint, why);
	if (job->forked != NULL && why != NULL)
		job->forked(job->user, NULL, why);
	job_free(job);
}

/* Nobody is left waiting for a session that is no more. */
void session_fail_jobs(struct session *session, const struct err *why)
{
	struct job *job = NULL;

	session_finish_job(session, "", why);
	while ((job = TAILQ_FIRST(&session->jobs)) != NULL) {
		TAILQ_REMOVE(&session->jobs, job, entry);
		if (job->run != NULL) {
			run_abandon(job->run, session->state == SESSION_CLOSED, why);
			job_free(job);
			continue;
		}
		session->now = job;
		session_finish_job(session, "", why);
	}
}

bool session_has_checkpoint(const struct session *session, const char *id)
{
	bool is_coming = session->needs_checkpoint || session->state == SESSION_FORKING;

	return session_find_checkpoint(session, id) != NULL ||
	       (is_coming && strcmp(session->next, id) == 0);
}

/* The job that is on is about a checkpoint that went while it waited. */
static void miss_checkpoint(struct session *session)
{
	struct err why = {0};

	(void)session_no_checkpoint(session, session->now->checkpoint, &why);
	session_finish_job(session, "", &why);
	session_kick(session);
}

static void begin_rollback(struct session *session)
{
	struct checkpoint *checkpoint = session_find_checkpoint(session, session->now->checkpoint);

	if (checkpoint == NULL)
		miss_checkpoint(session);
	else
		session_roll_back(session, checkpoint);
}

static void begin_fork(struct session *session)
{
	const char *id = session->now->checkpoint;
	struct checkpoint *checkpoint = session_find_checkpoint(session, id);

	if (id[0] != '\0' && checkpoint == NULL)
		miss_checkpoint(session);
	else
		session_branch(session, checkpoint);
}

/* A checkpoint of the state as it is: the last one, where nothing ran since; else a new one. */
static void begin_checkpoint(struct session *session)
{
	struct checkpoint *last = session_find_checkpoint(session, session->current);

	if (last != NULL && session->blocker[0] == '\0' && !session->files_dirty) {
		free(last->name);
		last->name = STEAL(session->now->name);
		session_name_state(session, last->id, last->name);
		session_record(session);
		session_finish_job(session, last->id, NULL);
		session_kick(session);
		return;
	}
	id_new("cp_", session->next);
	session_make_checkpoint(session);
}

static void begin_job(struct session *session)
{
	struct job *job = TAILQ_FIRST(&session->jobs);

	TAILQ_REMOVE(&session->jobs, job, entry);
	session->now = job;
	session_wake(session);
	if (job->kind != JOB_RUN && session->head != NULL)
		head_disarm(session->head);
	switch (job->kind) {
	case JOB_RUN:
		session->turns++;
		session->state = SESSION_RUNNING;
		session->run = job->run;
		session_show(session);
		run_begin(job->run, session->head);
		break;
	case JOB_CHECKPOINT:
		begin_checkpoint(session);
		break;
	case JOB_ROLLBACK:
		begin_rollback(session);
		break;
	case JOB_FORK:
		begin_fork(session);
		break;
	case JOB_RELOAD:
		session_begin_reload(session);
		break;
	}
}

/* A look is being forked: only what does not fork the same one may follow at once. */
static bool is_fork_due(const struct session *session)
{
	const struct job *next = session->needs_checkpoint ? NULL : TAILQ_FIRST(&session->jobs);
	const struct checkpoint *from = NULL;

	if (next != NULL && next->kind == JOB_RUN)
		return false;
	if (next != NULL && next->checkpoint[0] != '\0')
		from = session_find_checkpoint(session, next->checkpoint);
	return session->head->forking != NULL || (from != NULL && from->head->forking != NULL);
}

/* Whatever is to be done in one that sleeps: it wakes first. */
static void rouse(struct session *session)
{
	const struct job *next = session_next_job(session);
	struct job *job = NULL;

	if (next == NULL)
		return;
	if (next->kind != JOB_RELOAD) {
		job = xnew(struct job);
		job->kind = JOB_RELOAD;
		job->has_variables = true;
		TAILQ_INSERT_HEAD(&session->jobs, job, entry);
	}
	begin_job(session);
}

static void begin_next(struct session *session)
{
	/* It leaves what it is now: that is written first. */
	if (session_next_job(session)->kind == JOB_RELOAD && session_keep_is_due(session))
		session_keep(session);
	else
		begin_job(session);
}

void session_work(struct session *session)
{
	bool is_wanted = session_next_job(session) != NULL || !LIST_EMPTY(&session->looks);

	/* Until launch has told of its sandbox all that there is of it is a record. */
	if (session->is_ended || session->is_restored)
		return;
	/* Processes that are no heads are being ended, and a fork would be, too. The end of that
	 * kicks us. */
	if (session->sandbox != NULL && session->sandbox->swept != NULL)
		return;
	if (session->state == SESSION_ASLEEP) {
		rouse(session);
		return;
	}
	if (session->state == SESSION_FROZEN && is_wanted) {
		session_thaw(session);
		return;
	}
	session_roll_on(session); /* before another look has the checkpoint fork again */
	looks_work(session);
	/* A head that was dropped is followed by its end, which goes back to a checkpoint. */
	if (session->state != SESSION_IDLE || !session_may_begin(session) ||
	    session->head->is_dropped || is_fork_due(session))
		return;
	if (!session->needs_checkpoint && session_next_job(session) != NULL) {
		begin_next(session);
		return;
	}
	head_disarm(session->head);
	if (session->needs_checkpoint) {
		session_make_checkpoint(session);
		return;
	}
	session_keep(session);
	session_rest(session);
}

static void kick_due(uv_timer_t *timer)
{
	session_work(timer->data);
}

static void kick_in(struct session *session, uint64_t ms)
{
	if (!session->is_ended)
		(void)uv_timer_start(&session->kick, kick_due, ms, 0);
}

void session_kick(struct session *session)
{
	kick_in(session, 0);
}

/* ---- runs ---- */

static void host_end(void *user, struct run *run)
{
	struct session *session = user;
	struct err err = {0};

	if (session->dead != NULL)
		return;
	/* No run would go through in this interpreter any more. */
	if (run_failed(run) != FAILED_NOT && session_sound_checkpoint(session) != NULL)
		head_drop(session->head);
	else /* a wire that is gone takes the head with it, and that is told */
		(void)head_end(session->head, &err);
}

static void host_stop(void *user, struct run *run)
{
	struct session *session = user;

	(void)run;
	if (session->dead == NULL)
		head_drop(session->head);
}

/* A run that never came to be leaves all as it was. */
static void forget_queued(struct session *session, struct run *run)
{
	struct job *job = NULL;

	TAILQ_FOREACH(job, &session->jobs, entry) {
		if (job->run == run)
			break;
	}
	if (job != NULL) {
		TAILQ_REMOVE(&session->jobs, job, entry);
		job_free(job);
	}
	session_kick(session); /* it may have been held, and in the way */
	run_leave(run, session->state == SESSION_LOST ? RUN_LEFT_LOST : RUN_LEFT_PRESERVED, "");
}

static void take_facts(struct session *session, const struct run *run)
{
	struct run_facts facts = run_facts(run);

	session->memory = facts.memory > 0 ? facts.memory : session->memory;
	if (run_files_dirty(run))
		session->files_version = ++session->files_changes;
	session->files_dirty |= run_files_dirty(run);
	session_changed(session);
	if (run_is_look(run))
		return;
	session->runs++;
	(void)snprintf(session->last_run, sizeof(session->last_run), "%s", facts.id);
}

static void host_over(void *user, struct run *run)
{
	struct session *session = user;
	bool lives, goes_back;
	struct buf left;

	if (run != session->run) {
		forget_queued(session, run);
		return;
	}
	session->run = NULL;
	job_free(STEAL(session->now));
	lives = session->state == SESSION_RUNNING && session->dead == NULL &&
		session->head->state == HEAD_READY && !session->head->is_dropped &&
		!session->sandbox->is_ending;
	if (run_has_begun(run))
		take_facts(session, run);
	if (lives && session->is_transactional && run_has_begun(run)) {
		(void)snprintf(session->blocker, sizeof(session->blocker), "%s", run_blocker(run));
		session->needs_checkpoint = session->blocker[0] == '\0' && session->reload == NULL;
		if (session->needs_checkpoint)
			id_new("cp_", session->next);
		if (!run_is_look(run))
			session_note_run(session, run_facts(run).id);
		if (run_failed(run) == FAILED_NOT)
			session->suspect[0] = '\0';
	}
	goes_back = session->dead != NULL && session->state != SESSION_LOST;
	buf_init(&left, RUN_LEFT_MAX);
	if (session->is_transactional && (lives || goes_back) && !run_is_look(run))
		session_put_left(session, lives, &left);
	if (lives)
		run_leave(run, RUN_LEFT_PRESERVED, buf_string(&left));
	else if (goes_back)
		run_leave(run, RUN_LEFT_ROLLED_BACK, buf_string(&left));
	else
		run_leave(run, RUN_LEFT_LOST, "");
	buf_done(&left);
	if (lives)
		session->state = SESSION_IDLE;
	if (session->interrupted != NULL) {
		(void)uv_timer_stop(&session->guard);
		STEAL(session->interrupted)(session->interrupt_user, NULL);
	}
	if (lives && session->reload == NULL)
		session_record(session);
	/* The answer goes out first, then comes the fork. */
	kick_in(session, lives && TAILQ_EMPTY(&session->jobs) ? 1 : 0);
}

static void host_allowed(void *user, struct run *run)
{
	(void)run;
	session_kick(user);
}

const struct run_host session_run_host = {
	.end = host_end,
	.stop = host_stop,
	.allowed = host_allowed,
	.over = host_over,
};

int session_run(struct session *session, const struct run_request *request,
		const struct run_calls *calls, void *user, struct run **ret_run, struct err *err)
{
	struct run_request full = *request;
	struct job *job = NULL;
	/* Looks are the runner's own code, and fill the new sandbox. */
	int r = request->look != NULL ? check_room(session, err) : session_check_open(session, err);

	if (r < 0)
		return r;
	full.kind = session->kind;
	full.is_session = true;
	full.is_transactional = session->is_transactional;
	r = run_prepare(session->table->pool, &full, &session_run_host, session, calls, user,
			ret_run, err);
	if (r < 0)
		return r;
	if (full.files_json.size > 0 || full.file_count > 0)
		session->files_dirty = true;
	job = session_add_job(session, JOB_RUN, NULL);
	job->run = *ret_run;
	session_work(session);
	return 0;
}

static void grace_due(uv_timer_t *timer)
{
	struct session *session = timer->data;

	if (session->run != NULL)
		run_cancel(session->run, true);
}

int session_interrupt(struct session *session, const char *run, uint32_t grace_ms,
		      void (*done)(void *user, const struct err *why), void *user, struct err *err)
{
	int r;

	if (session->run == NULL || !run_is_running(session->run) || session->dead != NULL)
		return err_set(err, ERR_CONFLICT, ESRCH, "nothing runs in this session");
	if (run != NULL && strcmp(run_facts(session->run).id, run) != 0)
		return err_set(err, ERR_CONFLICT, ESRCH, "run: %s is not the one that runs", run);
	if (session->interrupted != NULL)
		return err_set(err, ERR_CONFLICT, EALREADY, "it is being interrupted already");
	r = head_interrupt(session->head, err);
	if (r < 0)
		return r;
	session->interrupted = done;
	session->interrupt_user = user;
	(void)uv_timer_start(&session->guard, grace_due, grace_ms, 0);
	return 0;
}
