// SPDX-License-Identifier: Apache-2.0
/* The queue of a session: runs, and requests about its states, one at a time and in order. A held
 * run keeps its place, and the jobs behind it wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/session_state.h"

#define JOBS_MAX 256U /* jobs that wait in one session */
#define DAMAGED "the interpreter is damaged"

/* ---- jobs ---- */

static struct job *add_job(struct session *session, enum job_kind kind, void *user)
{
	struct job *job = xnew(struct job);

	job->kind = kind;
	job->user = user;
	TAILQ_INSERT_TAIL(&session->jobs, job, entry);
	return job;
}

struct job *session_next_job(const struct session *session)
{
	struct job *job = TAILQ_FIRST(&session->jobs);

	return job != NULL && (job->run == NULL || run_may_begin(job->run)) ? job : NULL;
}

struct run *session_held_run(const struct session *session, const char *id)
{
	const struct job *job = NULL;

	TAILQ_FOREACH(job, &session->jobs, entry) {
		if (job->run != NULL && run_is_held(job->run) &&
		    (id != NULL ? strcmp(run_facts(job->run).id, id) == 0 : session->run == NULL))
			return job->run;
	}
	return NULL;
}

static struct session_change *change_new(const struct session_change *from)
{
	struct session_change *change = xnew(struct session_change);

	*change = *from;
	change->kind.trust = xtext(from->kind.trust);
	change->kind.data = xstrdup(from->kind.data);
	return change;
}

static void change_free(struct session_change *change)
{
	if (change == NULL)
		return;
	free((char *)(uintptr_t)change->kind.trust);
	free((char *)(uintptr_t)change->kind.data);
	free(change);
}

static void job_free(struct job *job)
{
	free(job->name);
	change_free(job->change);
	free(job);
}

int session_check_lives(const struct session *session, struct err *err)
{
	if (session->state != SESSION_LOST && session->state != SESSION_CLOSED)
		return 0;
	return err_set(err, ERR_CONFLICT, ENOTRECOVERABLE, "the session is lost: %s",
		       session->why.text);
}

static int check_room(const struct session *session, struct err *err)
{
	const struct job *job = NULL;
	uint32_t waiting = 0;

	if (session_check_lives(session, err) < 0)
		return -err->num;
	if (session->state == SESSION_ASLEEP && session->table->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, POOL_AWAY);
	TAILQ_FOREACH(job, &session->jobs, entry)
		waiting++;
	if (waiting >= JOBS_MAX)
		return err_set(err, ERR_BUSY, EAGAIN, "%u runs already wait in this session",
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

/* Every caller gets an answer, even though the session is gone. */
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

/* The job is refused, and the session stays as it is. */
static void refuse(struct session *session, const struct err *why)
{
	session_finish_job(session, "", why);
	session_kick(session);
}

/* The checkpoint of this job was dropped while the job waited. */
static void miss_checkpoint(struct session *session)
{
	struct err why = {0};

	(void)session_no_checkpoint(session, session->now->checkpoint, &why);
	refuse(session, &why);
}

static void begin_rollback(struct session *session)
{
	struct checkpoint *checkpoint = states_find(&session->states, session->now->checkpoint);

	if (checkpoint == NULL)
		miss_checkpoint(session);
	else
		session_roll_back(session, checkpoint);
}

static void begin_fork(struct session *session)
{
	const char *id = session->now->checkpoint;
	struct checkpoint *checkpoint = states_find(&session->states, id);
	struct err err = {0};

	if (id[0] != '\0' && checkpoint == NULL)
		miss_checkpoint(session);
	else if (session_make_room(session, checkpoint, session->now->count, &err) < 0)
		refuse(session, &err);
	else
		session_branch(session, checkpoint);
}

/* If nothing ran since the last checkpoint, that checkpoint is reused, unless it already has
 * another name. */
static void begin_checkpoint(struct session *session)
{
	struct checkpoint *last = states_current(&session->states);
	const char *name = session->now->name;
	struct err err = {0};

	if (last != NULL && session->states.blocker[0] == '\0' && !session->files.is_dirty &&
	    !session->files.has_others &&
	    (last->name == NULL || name == NULL || strcmp(last->name, name) == 0)) {
		if (name != NULL)
			session_name_checkpoint(session, last, &session->now->name);
		session_record(session);
		session_finish_job(session, last->id, NULL);
		session_kick(session);
		return;
	}
	if (!session_has_room(session)) {
		(void)err_set(&err, ERR_CONFLICT, EMFILE, HEAD_NO_ROOM);
		refuse(session, &err);
		return;
	}
	states_want(&session->states);
	session_make_checkpoint(session);
}

/* Did the runner fail after the code of an earlier run from the same checkpoint? The next run shows
 * whether that run or the checkpoint is to blame (run_doubt). */
static bool is_doubted(const struct session *session)
{
	return session->back.since_count == 0 && session->states.suspect != NULL &&
	       strcmp(session->states.suspect->id, session->states.current) == 0;
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
		if (is_doubted(session))
			run_doubt(job->run);
		run_set_pool(job->run, session->table->pool);
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

/* A head forks one child at a time, and the fork of a look may be under way. Must the next job wait
 * because it would fork the same head, or because the fork would have no number? */
static bool is_fork_due(const struct session *session)
{
	const struct job *next =
		session_checkpoint_is_due(session) ? NULL : TAILQ_FIRST(&session->jobs);
	const struct checkpoint *from = NULL;

	if (next != NULL && next->kind == JOB_RUN)
		return false;
	if (next != NULL && next->checkpoint[0] != '\0')
		from = states_find(&session->states, next->checkpoint);
	if ((next != NULL || session_checkpoint_is_due(session)) &&
	    head_must_wait(session->sandbox))
		return true;
	return session->head->forking != NULL || (from != NULL && from->head->forking != NULL);
}

/* A sleeping session is woken before its first job. */
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
	enum job_kind kind = session_next_job(session)->kind;

	/* A reload replaces the present state, so that is written to disk first. */
	if ((kind == JOB_RELOAD && session_keep_is_due(session)) ||
	    (kind != JOB_CHECKPOINT && session_keep_is_first(session)))
		session_keep(session);
	else
		begin_job(session);
}

/* After the last branch has ended, its changes of /workspace belong to this session: they get a
 * checkpoint before a run can fail and lose them. */
static void note_alone(struct session *session)
{
	if (session->state == SESSION_IDLE && session->is_transactional &&
	    session->files.has_others && !session_shares_files(session) &&
	    session->states.blocker[0] == '\0' && session->states.next[0] == '\0' &&
	    session->disk.reload == NULL)
		session_want_checkpoint(session);
}

/* There was no room for a checkpoint of the present state: is there now? */
static void note_room(struct session *session)
{
	if (session->state == SESSION_IDLE && session->sandbox != NULL &&
	    strcmp(session->states.blocker, HEAD_NO_ROOM) == 0 && session->disk.reload == NULL)
		session_want_checkpoint(session);
}

/* The checkpoint after the last run was blocked, perhaps by something that is over now, such as a
 * thread that has ended. So it is tried once more before the next run, whose failure would undo the
 * last run as well. Until the head has answered, the old reason stands. */
static void note_run(struct session *session)
{
	struct states *states = &session->states;
	struct job *next = session_next_job(session);

	if (session->state != SESSION_IDLE || !session->is_transactional || next == NULL ||
	    next->kind != JOB_RUN || next->is_retried || states->next[0] != '\0' ||
	    session->disk.reload != NULL || states->blocker[0] == '\0' ||
	    strcmp(states->blocker, DAMAGED) == 0)
		return;
	next->is_retried = true;
	if (session_has_room(session))
		states_want(states);
	else
		(void)snprintf(states->blocker, sizeof(states->blocker), "%s", HEAD_NO_ROOM);
}

static void work(struct session *session)
{
	bool is_wanted = session_next_job(session) != NULL || !LIST_EMPTY(&session->looks);

	/* After a restart nothing can be done until the backend has told what it kept. */
	if (session->state == SESSION_CLOSED || session->former != NULL)
		return;
	/* The backend is ending all processes that are not heads, and would also end a new fork.
	 * The session is kicked when that is done. */
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
	note_alone(session);
	note_room(session);
	note_run(session);
	session_roll_on(session); /* before looks, which would have the checkpoint fork again */
	looks_work(session);
	/* A head that was dropped is about to end, and that rolls the session back. */
	if (session->state != SESSION_IDLE || !session_may_begin(session) ||
	    session->head->is_dropped || is_fork_due(session))
		return;
	if (!session_checkpoint_is_due(session) && session_next_job(session) != NULL) {
		begin_next(session);
		return;
	}
	head_disarm(session->head);
	if (session_checkpoint_is_due(session)) {
		session_make_checkpoint(session);
		return;
	}
	session_keep(session);
	session_rest(session);
}

static void kick_due(uv_timer_t *timer)
{
	work(timer->data);
}

void session_kick_in(struct session *session, uint64_t ms)
{
	if (session->state != SESSION_CLOSED)
		(void)uv_timer_start(&session->timers[TIMER_KICK], kick_due, ms, 0);
}

void session_kick(struct session *session)
{
	session_kick_in(session, 0);
}

/* ---- runs ---- */

static bool host_can_go_back(void *user)
{
	const struct session *session = user;

	return states_last(&session->states) != NULL;
}

/* A run that never began leaves the session as it was. */
static enum run_left forget_queued(struct session *session, struct run *run)
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
	session_kick(session); /* if it was held, the next job can begin now */
	return session->state == SESSION_LOST ? RUN_LEFT_LOST : RUN_LEFT_PRESERVED;
}

static void take_facts(struct session *session, const struct run *run)
{
	struct run_facts facts = run_facts(run);

	session->memory = facts.memory > 0 ? facts.memory : session->memory;
	if (run_extras(run)->is_files_dirty || session->files.has_others)
		files_changed(&session->files);
	session->files.is_dirty |= run_extras(run)->is_files_dirty;
	if (run_extras(run)->is_files_dirty)
		session_share_change(session);
	disk_set_due(&session->disk, true);
	if (run_is_look(run))
		return;
	session->runs++;
	(void)snprintf(session->states.last_run, sizeof(session->states.last_run), "%s", facts.id);
}

/* A run of a transactional session has ended, and its interpreter lives: may it become a state? */
static void want_state(struct session *session, struct run *run)
{
	struct states *states = &session->states;
	bool is_damaged = run_failed(run) != FAILED_NOT;

	(void)snprintf(states->blocker, sizeof(states->blocker), "%s",
		       is_damaged ? DAMAGED : run_extras(run)->blocker);
	states->next[0] = '\0';
	if (states->blocker[0] == '\0' && session->disk.reload == NULL)
		session_want_checkpoint(session);
	if (!run_is_look(run))
		back_note_run(&session->back, run_facts(run).id);
	if (!is_damaged)
		states->suspect = NULL;
}

static enum run_left host_over(void *user, struct run *run, struct buf *checkpoint)
{
	struct session *session = user;
	bool lives, goes_back;

	if (run != session->run)
		return forget_queued(session, run);
	session->run = NULL;
	job_free(STEAL(session->now));
	lives = session->state == SESSION_RUNNING && session->dead.head == NULL &&
		session->head->state == HEAD_READY && !session->head->is_dropped &&
		!session->sandbox->is_ending;
	if (run_has_begun(run))
		take_facts(session, run);
	if (lives && session->is_transactional && run_has_begun(run))
		want_state(session, run);
	goes_back = session->dead.head != NULL && session->state != SESSION_LOST &&
		    session->state != SESSION_ASLEEP;
	if ((lives || (goes_back && session->is_transactional)) && !run_is_look(run))
		session_put_left(session, run_facts(run).id, lives, checkpoint);
	if (lives)
		session->state = SESSION_IDLE;
	if (session->interrupted.call != NULL) {
		(void)uv_timer_stop(&session->timers[TIMER_GUARD]);
		STEAL(session->interrupted.call)(session->interrupted.user, NULL);
	}
	if (lives && session->disk.reload == NULL)
		session_record(session);
	/* The answer is sent before the head forks, which takes time. */
	session_kick_in(session, lives && TAILQ_EMPTY(&session->jobs) ? 1 : 0);
	if (lives)
		return RUN_LEFT_PRESERVED;
	return goes_back || session->state == SESSION_ASLEEP ? RUN_LEFT_ROLLED_BACK : RUN_LEFT_LOST;
}

static void host_allowed(void *user)
{
	session_kick(user);
}

const struct run_host session_run_host = {
	.can_go_back = host_can_go_back,
	.allowed = host_allowed,
	.over = host_over,
};

int session_run(struct session *session, const struct run_request *request,
		const struct run_calls *calls, void *user, struct run **ret_run, struct err *err)
{
	struct run_request full = *request;
	struct job *job = NULL;
	/* Looks are accepted during a change: they are the runner's own code and fill the new
	 * sandbox. */
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
		session->files.is_dirty = true;
	job = add_job(session, JOB_RUN, NULL);
	job->run = *ret_run;
	/* Waking may fail and end the run at once; the caller must have `ret_run` by then, so this
	 * is done from the loop. */
	if (session->state == SESSION_ASLEEP)
		session_kick(session);
	else
		work(session);
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

	if (session->run == NULL || !run_is_running(session->run) || session->dead.head != NULL)
		return err_set(err, ERR_CONFLICT, ESRCH, "nothing runs in this session");
	if (run != NULL && strcmp(run_facts(session->run).id, run) != 0)
		return err_field(err, ERR_CONFLICT, ESRCH, "run", "%s is not running", run);
	if (session->interrupted.call != NULL)
		return err_set(err, ERR_CONFLICT, EALREADY, "the run is already being interrupted");
	r = head_interrupt(session->head, err);
	if (r < 0)
		return r;
	session->interrupted.call = done;
	session->interrupted.user = user;
	(void)uv_timer_start(&session->timers[TIMER_GUARD], grace_due, grace_ms, 0);
	return 0;
}

/* ---- requests about states ---- */

/* Queues a job with its callback. The caller fills in the rest of it. */
static int ask(struct session *session, enum job_kind kind,
	       void (*done)(void *user, const char *checkpoint, const struct err *why), void *user,
	       struct job **ret_job, struct err *err)
{
	int r = session_check_open(session, err);

	if (r < 0)
		return r;
	*ret_job = add_job(session, kind, user);
	(*ret_job)->done = done;
	session_kick(session);
	return 0;
}

int session_checkpoint(struct session *session, const char *name,
		       void (*done)(void *user, const char *checkpoint, const struct err *why),
		       void *user, struct err *err)
{
	struct job *job = NULL;
	int r = ask(session, JOB_CHECKPOINT, done, user, &job, err);

	if (r == 0)
		job->name = xstrdup(name);
	return r;
}

int session_rollback(struct session *session, const char *checkpoint,
		     void (*done)(void *user, const char *checkpoint, const struct err *why),
		     void *user, struct err *err)
{
	bool is_live;
	struct job *job = NULL;
	int r = session_check_open(session, err);

	if (r < 0)
		return r;
	checkpoint = session_checkpoint_id(session, checkpoint);
	is_live = session_has_checkpoint(session, checkpoint);
	if (!is_live && (stored_find(session->disk.stored, checkpoint) == NULL))
		return session_no_checkpoint(session, checkpoint, err);
	r = ask(session, is_live ? JOB_ROLLBACK : JOB_RELOAD, done, user, &job, err);
	if (r < 0)
		return r;
	job->has_variables = true;
	(void)snprintf(job->checkpoint, sizeof(job->checkpoint), "%s", checkpoint);
	return 0;
}

int session_fork(struct session *session, const char *checkpoint, uint32_t count,
		 void (*done)(void *user, struct session *branch, const struct err *why),
		 void *user, struct err *err)
{
	int r = session_check_open(session, err);
	struct job *job = NULL;

	if (r < 0)
		return r;
	if (checkpoint != NULL)
		checkpoint = session_checkpoint_id(session, checkpoint);
	if (checkpoint != NULL && !session_has_checkpoint(session, checkpoint) &&
	    stored_find(session->disk.stored, checkpoint) != NULL)
		return err_field(err, ERR_CONFLICT, EINVAL, "checkpoint",
				 "%.60s is on disk; go back to it, then branch", checkpoint);
	if (checkpoint != NULL && !session_has_checkpoint(session, checkpoint))
		return session_no_checkpoint(session, checkpoint, err);
	job = add_job(session, JOB_FORK, user);
	job->count = count;
	if (checkpoint != NULL)
		(void)snprintf(job->checkpoint, sizeof(job->checkpoint), "%s", checkpoint);
	job->forked = done;
	session_kick(session);
	return 0;
}

int session_wake_up(struct session *session,
		    void (*done)(void *user, const char *checkpoint, const struct err *why),
		    void *user, struct err *err)
{
	struct job *job = NULL;
	int r = session_check_open(session, err);

	if (r == 0 && session->state != SESSION_ASLEEP) {
		done(user, session->states.current, NULL);
		return 0;
	}
	if (r == 0)
		r = ask(session, JOB_RELOAD, done, user, &job, err);
	if (r == 0)
		job->has_variables = true;
	return r;
}

int session_restart(struct session *session, const struct session_change *change,
		    void (*done)(void *user, const char *checkpoint, const struct err *why),
		    void *user, struct err *err)
{
	struct job *job = NULL;
	int r;

	if (session_is_kept(session) && session->table->store == NULL)
		return err_set(err, ERR_CONFLICT, EINVAL,
			       "the session's files are to be kept, but there is no disk to keep "
			       "them on; set `keep` to false to restart without them");
	r = ask(session, JOB_RELOAD, done, user, &job, err);
	if (r == 0 && change != NULL)
		job->change = change_new(change);
	return r;
}
