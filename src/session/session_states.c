// SPDX-License-Identifier: Apache-2.0
/* Requests of clients about the states of a session: keep one, go back, branch, forget, wake,
 * restart. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/session_state.h"

int session_no_checkpoint(const struct session *session, const char *id, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, ENOENT, "checkpoint: there is no %.60s%s", id,
		       session->is_kept ? ""
					: "; those without a name are dropped, all but the last, "
					  "when the session rests: name a checkpoint, or make "
					  "the session with keep");
}

/* A job that `done` is told of; what else it is about is the caller's to fill in. */
static int ask(struct session *session, enum job_kind kind,
	       void (*done)(void *user, const char *checkpoint, const struct err *why), void *user,
	       struct job **ret_job, struct err *err)
{
	int r = session_check_open(session, err);

	if (r < 0)
		return r;
	*ret_job = session_add_job(session, kind, user);
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
	bool is_live = session_has_checkpoint(session, checkpoint);
	struct job *job = NULL;
	int r = session_check_open(session, err);

	if (r < 0)
		return r;
	if (!is_live &&
	    (session->stored == NULL || stored_find(session->stored, checkpoint) == NULL))
		return session_no_checkpoint(session, checkpoint, err);
	r = ask(session, is_live ? JOB_ROLLBACK : JOB_RELOAD, done, user, &job, err);
	if (r < 0)
		return r;
	job->has_variables = true;
	(void)snprintf(job->checkpoint, sizeof(job->checkpoint), "%s", checkpoint);
	return 0;
}

int session_fork(struct session *session, const char *checkpoint,
		 void (*done)(void *user, struct session *branch, const struct err *why),
		 void *user, struct err *err)
{
	int r = session_check_open(session, err);
	struct job *job = NULL;

	if (r < 0)
		return r;
	if (checkpoint != NULL && !session_has_checkpoint(session, checkpoint) &&
	    session->stored != NULL && stored_find(session->stored, checkpoint) != NULL)
		return err_set(err, ERR_CONFLICT, EINVAL,
			       "checkpoint: %.60s is on disk; go back to it, then branch",
			       checkpoint);
	if (checkpoint != NULL && !session_has_checkpoint(session, checkpoint))
		return session_no_checkpoint(session, checkpoint, err);
	job = session_add_job(session, JOB_FORK, user);
	if (checkpoint != NULL)
		(void)snprintf(job->checkpoint, sizeof(job->checkpoint), "%s", checkpoint);
	job->forked = done;
	session_kick(session);
	return 0;
}

int session_drop_checkpoint(struct session *session, const char *checkpoint, struct err *err)
{
	struct checkpoint *found = session_find_checkpoint(session, checkpoint);
	struct store_state *state =
		session->stored != NULL ? stored_find(session->stored, checkpoint) : NULL;
	int r = 0;

	if (found == NULL && state == NULL)
		return session_no_checkpoint(session, checkpoint, err);
	if (strcmp(session->current, checkpoint) == 0 || strcmp(session->kept, checkpoint) == 0 ||
	    session->reload != NULL)
		return err_set(err, ERR_CONFLICT, EBUSY,
			       "checkpoint: it is the one the session would go back to");
	if (state != NULL)
		r = stored_drop(session->stored, state, err);
	if (r == 0 && found != NULL) {
		session_free_checkpoint(session, found);
		session_record(session);
	}
	return r;
}

void session_touch_files(struct session *session)
{
	session->files_dirty = true;
	session->files_version = ++session->files_changes;
	session_changed(session);
	if (session->is_transactional && session->blocker[0] == '\0' &&
	    session->state == SESSION_IDLE) {
		id_new("cp_", session->next);
		session->needs_checkpoint = true;
		session_kick(session);
	}
}

int session_wake_up(struct session *session,
		    void (*done)(void *user, const char *checkpoint, const struct err *why),
		    void *user, struct err *err)
{
	struct job *job = NULL;
	int r = session_check_open(session, err);

	if (r == 0 && session->state != SESSION_ASLEEP) {
		done(user, session->current, NULL);
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

	if (session->is_kept && session->table->store == NULL)
		return err_set(err, ERR_CONFLICT, EINVAL,
			       "its files are to be kept, and there is no disk to keep them on; "
			       "set `keep` to false to restart it without them");
	r = ask(session, JOB_RELOAD, done, user, &job, err);
	if (r == 0 && change != NULL)
		job->change = session_change_new(change);
	return r;
}
