// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "session/session_state.h"

struct kept {
	struct sandbox *sandbox;
	const char *name;
	uint32_t number;
	int32_t pid;
	int *fds; /* channel; for the first head of a branch also its pipes and spools */
	size_t fd_count;
	bool is_claimed;
};

static void claim_sandbox(void *user, struct session *session)
{
	struct kept *kept = user;

	if (!session->is_restored || session->sandbox != NULL || session->state == SESSION_LOST ||
	    session->sandbox_id != kept->sandbox->id || strcmp(session->home, kept->name) != 0)
		return;
	session->sandbox = kept->sandbox;
	session->sandbox->sessions++;
	session->pool = session->table->pool;
	kept->is_claimed = true;
}

bool sessions_kept(struct sessions *sessions, struct sandbox *sandbox, const char *name)
{
	struct kept kept = {.sandbox = sandbox, .name = name};
	struct err err = {0};

	sessions_each(sessions, claim_sandbox, &kept);
	if (kept.is_claimed)
		(void)sandbox_meter(sandbox, &err);
	return kept.is_claimed;
}

/* The first head of a sandbox was never told to us with its pid. */
static bool is_process(const struct kept *kept, uint32_t number, pid_t pid)
{
	return kept->number == number && (number == 0 || kept->pid == pid);
}

static struct checkpoint *wanted_checkpoint(const struct session *session, const struct kept *kept)
{
	struct checkpoint *checkpoint = NULL;

	TAILQ_FOREACH(checkpoint, &session->checkpoints, entry) {
		if (checkpoint->head == NULL &&
		    is_process(kept, checkpoint->head_number, checkpoint->head_pid))
			return checkpoint;
	}
	return NULL;
}

static void claim_head(void *user, struct session *session)
{
	struct kept *kept = user;
	struct checkpoint *checkpoint = NULL;
	struct head *head = NULL;
	struct err err = {0};

	if (kept->is_claimed || !session->is_restored || session->sandbox != kept->sandbox)
		return;
	checkpoint = wanted_checkpoint(session, kept);
	if (checkpoint == NULL && !is_process(kept, session->head_number, session->head_pid))
		return;
	kept->is_claimed = true;
	if (kept->fd_count == BOX_HEAD_FDS_MAX && session->pipes == NULL)
		session_adopt_pipes(session, &kept->fds[1]);
	if (head_adopt(session->sandbox, kept->number, kept->pid, &kept->fds[0],
		       &session_head_calls, session, &head, &err) < 0) {
		log_event(LOG_LEVEL_ERROR, "session.adopt", "session=%s why=%s", session->id,
			  err.text);
		return;
	}
	if (session->pipes != NULL) {
		head->pipes = (struct head_pipes){&session->pipes->out, &session->pipes->err};
		head->has_pipes = true;
	}
	if (checkpoint != NULL)
		checkpoint->head = head;
	else
		session->head = head;
}

bool sessions_kept_head(struct sessions *sessions, struct sandbox *sandbox, uint32_t number,
			int32_t pid, int *take_fds, size_t fd_count)
{
	struct kept kept = {
		.sandbox = sandbox,
		.number = number,
		.pid = pid,
		.fds = take_fds,
		.fd_count = fd_count,
	};

	sessions_each(sessions, claim_head, &kept);
	return kept.is_claimed;
}

/* ---- that was all ---- */

struct attach {
	const struct sessions_resume *resume;
	struct session *session;
	struct log *log; /* of the run that was on */
};

static bool is_of(const struct log *log, const char *session)
{
	const char *head = NULL;
	const char *value = NULL;
	size_t size = 0;
	size_t value_size = 0;

	return log_head(log, &head, &size) &&
	       json_find(head, size, "session", &value, &value_size) &&
	       value_size == strlen(session) + 2 &&
	       memcmp(value + 1, session, strlen(session)) == 0;
}

/* The run that was on has a note; those behind it have none, and will never begin. */
static void find_run(void *user, struct log *log)
{
	struct attach *attach = user;
	const char *note = NULL;
	size_t size = 0;

	if (attach->log != NULL || log_is_over(log) || !is_of(log, attach->session->id))
		return;
	if (log_last_note(log, &note, &size) && size > 0)
		attach->log = log;
}

static void go_on(struct session *session, struct attach *attach)
{
	const struct sessions_resume *resume = attach->resume;
	struct err err = {0};
	struct job *job = NULL;
	void *user = NULL;

	attach->session = session;
	attach->log = NULL;
	logs_each(session->table->logs, find_run, attach);
	if (attach->log == NULL) {
		head_listen(session->head);
		head_disarm(session->head);
		return;
	}
	job = xnew(struct job);
	job->kind = JOB_RUN;
	session->now = job;
	session->state = SESSION_RUNNING;
	session_wake(session);
	user = resume->user_of(resume->user, attach->log);
	if (run_resume(session->table->pool, attach->log, &session_run_host, session, session->head,
		       NULL, resume->calls, user, &session->run, &err) < 0) {
		/* Nobody knows what it was doing: its head cannot be trusted to be idle. */
		session->now = NULL;
		free(job);
		session->state = SESSION_IDLE;
		run_bury(session->table->pool, attach->log, RUN_LEFT_ROLLED_BACK, &err);
		resume->resumed(user, NULL);
		head_drop(session->head);
		return;
	}
	resume->resumed(user, session->run);
	job->run = session->run;
}

static void drop_headless(struct session *session)
{
	struct checkpoint *checkpoint = TAILQ_FIRST(&session->checkpoints);

	while (checkpoint != NULL) {
		struct checkpoint *next = TAILQ_NEXT(checkpoint, entry);

		if (checkpoint->head == NULL)
			session_free_checkpoint(session, checkpoint);
		checkpoint = next;
	}
}

/* Their frames belong to no run; they were held back until now lest one was the end of a run. */
static void hear_checkpoints(struct session *session)
{
	struct checkpoint *checkpoint = NULL;

	TAILQ_FOREACH(checkpoint, &session->checkpoints, entry)
		head_listen(checkpoint->head);
}

/* Ages by the wall clock, which alone both processes share; one that was set back makes them 0. */
static void set_ages(struct session *session)
{
	uint64_t wall = wall_ms();
	uint64_t mono = now_ns();

	session->created_ns =
		wall > session->created_ms ? mono - (wall - session->created_ms) * 1000000 : mono;
	session->used_ns =
		wall > session->used_ms ? mono - (wall - session->used_ms) * 1000000 : mono;
}

static void settle(void *user, struct session *session)
{
	struct checkpoint *last = NULL;
	struct err why = {0};

	if (!session->is_restored)
		return;
	session->is_restored = false;
	session_open_log(session);
	set_ages(session);
	drop_headless(session);
	if (session->state == SESSION_LOST) {
		session_rest(session);
		return;
	}
	last = session_last_checkpoint(session);
	if (session->sandbox == NULL || (session->head == NULL && last == NULL)) {
		(void)err_set(
			&why, ERR_CONFLICT, ESTALE,
			"viv-launch ended while the daemon was away, and with it the session");
		session_lose(session, &why);
		return;
	}
	hear_checkpoints(session);
	session->needs_keeping = session->is_kept && strcmp(session->kept, session->current) != 0;
	if (session->state != SESSION_FROZEN)
		session->state = SESSION_IDLE;
	if (session->head == NULL && session->state != SESSION_FROZEN)
		session_roll_back(session, last);
	else if (session->head != NULL)
		go_on(session, user);
	session_record(session);
	session_kick(session);
}

void sessions_attached(struct sessions *sessions, const struct sessions_resume *resume)
{
	struct attach attach = {.resume = resume};

	sessions_each(sessions, settle, &attach);
}
