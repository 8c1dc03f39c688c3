// SPDX-License-Identifier: Apache-2.0
/* Sessions without a sandbox, and how they get another: what is on disk of a state is brought in by
 * the new head itself, before anything else happens in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/sendfile.h>

#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "session/session_state.h"

#define SLICE (8UL << 20) /* bytes that are read from disk before the loop has its turn */
#define RELOAD_ANSWER_MAX (16U << 20)

/* A sandbox that is being filled. */
struct reload {
	struct session *session;       /* borrowed */
	struct job *job;               /* owned */
	const struct backend *backend; /* static: makes the sandbox */
	struct store_state
		state;     /* of the store's the plain members: it may be dropped meanwhile */
	char *missing;     /* owned: JSON list of what did not come */
	bool has_state;    /* false: there is nothing to bring in */
	bool is_files;     /* the workspace is on its way */
	bool is_asked;     /* the head has been told to read it */
	int source, memfd; /* owned */
	uint64_t copied, size;
	struct buf answer;
};

static void next_part(struct reload *reload);

/* ---- sleep ---- */

bool session_can_sleep(const struct session *session)
{
	return session->is_kept && session->stored != NULL && stored_last(session->stored) != NULL;
}

void session_lie_down(struct session *session, const struct err *why)
{
	const struct sessions_settings *set = &session->table->settings;

	session->state = SESSION_ASLEEP;
	session->why = *why;
	session->needs_checkpoint = session->needs_keeping = false;
	session->blocker[0] = '\0';
	session->sandbox_id = 0;
	(void)snprintf(session->home, sizeof(session->home), "%s", session->id);
	if (session->kept[0] == '\0' || stored_find(session->stored, session->kept) == NULL)
		memcpy(session->kept, stored_last(session->stored)->id, ID_SIZE);
	memcpy(session->current, session->kept, ID_SIZE);
	(void)uv_timer_stop(&session->timer);
	/* The store has what makes it again: a record of a sandbox would say too much. */
	session_record_end(session);
	if (session->is_counted && set->slept != NULL)
		set->slept(set->user, session);
	session->is_counted = false;
	session_tell(session, "asleep", "");
	session_show(session);
	log_event(LOG_LEVEL_INFO, "session.sleep", "session=%s why=%s", session->id, why->text);
}

void session_sleep(struct session *session, const struct err *why)
{
	session->state = SESSION_ASLEEP;
	session_let_go(session, why);
	session_lie_down(session, why);
}

/* ---- the sandbox is filled ---- */

static void reload_free(struct reload *reload)
{
	drop_fd(&reload->source);
	drop_fd(&reload->memfd);
	buf_done(&reload->answer);
	free(reload->missing);
	free(reload->state.name);
	free(reload);
}

void session_drop_reload(struct session *session, const struct err *why)
{
	struct reload *reload = STEAL(session->reload);
	struct job *job = reload != NULL ? STEAL(reload->job) : NULL;

	if (reload == NULL)
		return;
	if (job->change != NULL)
		session_change_swap(session, job->change); /* it stays what it was */
	reload_free(reload);
	session->now = job;
	session_finish_job(session, "", why);
}

bool session_reload_changes(const struct session *session)
{
	return session->reload != NULL && session->reload->job->change != NULL;
}

/* Names of what could not be kept, of files and variables: the bytes themselves tell it when they
 * are read.
 */
static void add_missing(struct reload *reload, const char *json, size_t size)
{
	json_auto_t *all = json_loads(reload->missing != NULL ? reload->missing : "[]", 0, NULL);
	json_auto_t *more = json_loadb(json, size, 0, NULL);
	char *text = NULL;

	if (json_is_array(more))
		(void)json_array_extend(all, more);
	text = json_dumps(all, JSON_COMPACT);
	free(reload->missing);
	reload->missing = text != NULL ? store_missing(text, strlen(text)) : NULL;
	free(text);
}

static bool is_on_disk(const struct session *session)
{
	return session->is_kept && session->table->store != NULL;
}

/* The first run that follows tells what it goes on from. */
static void note_woken(struct session *session, const struct reload *reload)
{
	json_auto_t *woken =
		json_pack("{s:s, s:I, s:b, s:b, s:o*}", "state", reload->state.id, "created_ms",
			  (json_int_t)reload->state.created_ms, "variables",
			  reload->job->has_variables, "files", is_on_disk(session), "missing",
			  json_loads(reload->missing != NULL ? reload->missing : "[]", 0, NULL));
	struct buf members;

	free(session->woken);
	session->woken = json_dumps(woken, JSON_COMPACT);
	if (session->woken == NULL)
		return;
	buf_init(&members, 4 * STORE_MISSING_MAX);
	if (buf_format(&members, ",\"woken\":%s", session->woken) == 0)
		session_tell(session, "woken", buf_string(&members));
	buf_done(&members);
}

/* Its checkpoint is the state that it came from, alive again. */
static void take_place(struct session *session, const struct reload *reload)
{
	const struct store_state *state = &reload->state;
	struct store_files *files = NULL;
	bool is_whole = reload->has_state && reload->job->has_variables;

	session->current[0] = '\0';
	if (is_whole) {
		memcpy(session->current, state->parent, ID_SIZE);
		memcpy(session->next, state->id, ID_SIZE);
		memcpy(session->last_run, state->run, ID_SIZE);
		(void)snprintf(session->kept, ID_SIZE, "%s", state->id);
	} else {
		session->last_run[0] = '\0'; /* nothing of it is left */
		id_new("cp_", session->next);
	}
	/* Another one's number may be the same by chance: from here on it is this one's. */
	if (session->stored != NULL) {
		TAILQ_FOREACH(files, &session->stored->files, entry)
			files->version = files->number == state->files && state->files > 0
						 ? session->files_version
						 : 0;
	}
	session->needs_checkpoint = session->is_transactional && session->blocker[0] == '\0';
	/* After a restart, the state on disk has variables that are to be gone. */
	session->needs_keeping = session->is_kept && !is_whole &&
				 (session->files_dirty || !reload->job->has_variables);
}

static void fail(struct reload *reload, const struct err *why);

/* The store makes a session that sleeps again: it must not be of the old policy then. */
static int note_change(struct session *session, struct err *err)
{
	struct buf record;
	int r = 0;

	if (session->stored == NULL)
		return 0;
	buf_init(&record, STORE_RECORD_MAX);
	if (session_put_record(&record, session) < 0)
		r = err_set(err, ERR_INTERNAL, ENOMEM, "no memory");
	if (r == 0)
		r = stored_set_record(session->stored, &record, err);
	buf_done(&record);
	return r;
}

static void filled(struct reload *reload)
{
	struct session *session = reload->session;
	struct job *job = NULL;
	struct err err = {0};

	if (reload->job->change != NULL && note_change(session, &err) < 0) {
		fail(reload, &err);
		(void)note_change(session,
				  &err); /* what it was again, for the next that is written */
		return;
	}
	session->reload = NULL;
	take_place(session, reload);
	note_woken(session, reload);
	session->state = SESSION_IDLE;
	log_event(LOG_LEVEL_INFO, "session.wake", "session=%s checkpoint=%s", session->id,
		  reload->state.id);
	session_record(session);
	job = STEAL(reload->job);
	reload_free(reload);
	session->now = job;
	session_finish_job(session, session->next, NULL);
	session_kick(session);
}

static void fail(struct reload *reload, const struct err *why)
{
	struct session *session = reload->session;
	struct err copy = *why;

	if (session->state == SESSION_ASLEEP || session->state == SESSION_LOST ||
	    session->state == SESSION_CLOSED)
		return; /* it is being let go of already */
	if (reload->job->change != NULL)
		(void)err_wrap(&copy, is_on_disk(session)
					      ? "the session stays what it was, and sleeps"
					      : "the session is lost");
	else if (is_on_disk(session))
		(void)err_wrap(&copy, "the session cannot be woken from this state (another one, "
				      "or a restart, still can)");
	if (session_can_sleep(session))
		session_sleep(session, &copy);
	else
		session_lose(session, &copy);
}

static void take_answer(void *user, const char *json, size_t size)
{
	struct reload *reload = user;

	buf_consume(&reload->answer, reload->answer.size);
	(void)buf_append(&reload->answer, json, size);
}

/* Of the files nothing is missing but what was when they were written to disk. */
static bool are_all_here(const struct reload *reload, const char *lost, size_t size)
{
	json_auto_t *now = json_loadb(lost, size, 0, NULL);
	json_auto_t *before = NULL;
	const struct store_files *files = NULL;

	TAILQ_FOREACH(files, &reload->session->stored->files, entry) {
		if (files->number == reload->state.files && files->missing != NULL)
			before = json_loads(files->missing, 0, NULL);
	}
	return json_is_array(now) && json_array_size(now) <= json_array_size(before);
}

static void imported(void *user, const char *as_of, const struct err *why)
{
	struct session *session = user;
	struct reload *reload = session->reload;
	const char *lost = NULL;
	size_t size = 0;
	struct err err = {0};

	(void)as_of;
	if (reload == NULL)
		return; /* the session has given up on it already */
	reload->is_asked = false;
	if (why != NULL) {
		fail(reload, why);
		return;
	}
	if (!json_find(reload->answer.data, reload->answer.size, "lost", &lost, &size)) {
		(void)err_set(&err, ERR_CONFLICT, EIO, "its bytes are damaged");
		fail(reload, &err);
		return;
	}
	if (reload->is_files && reload->job->change != NULL && !are_all_here(reload, lost, size)) {
		(void)err_set(&err, ERR_CONFLICT, ENOSPC,
			      "policy: not all of its files can be written under %s",
			      session->policy->name);
		fail(reload, &err);
		return;
	}
	add_missing(reload, lost, size);
	if (reload->is_files && reload->job->has_variables) {
		reload->is_files = false;
		next_part(reload);
	} else {
		filled(reload);
	}
}

static void import_answer(void *user, const char *json, size_t size)
{
	struct session *session = user;

	if (session->reload != NULL)
		take_answer(session->reload, json, size);
}

/* The head reads it itself, before every run that waits. */
static void import_part(struct reload *reload)
{
	static const struct look_calls calls = {.answer = import_answer, .done = imported};
	struct session *session = reload->session;
	const struct look_ask ask = {
		.json = "{\"kind\":\"import\"}",
		.bytes = {.fd = reload->memfd, .size = reload->size},
		.is_in_head = true,
		.timeout_ms = (uint32_t)session->policy->timeout_max_ms,
	};
	struct err err = {0};
	struct job *job = NULL;

	buf_consume(&reload->answer, reload->answer.size);
	if (session_look(session, &ask, &calls, session, NULL, &err) < 0) {
		fail(reload, &err);
		return;
	}
	drop_fd(&reload->memfd);
	job = TAILQ_LAST(&session->jobs, job_list);
	TAILQ_REMOVE(&session->jobs, job, entry);
	TAILQ_INSERT_HEAD(&session->jobs, job, entry);
	reload->is_asked = true;
	session->state = SESSION_IDLE;
	session_kick(session);
}

bool session_may_begin(const struct session *session)
{
	return session->reload == NULL || session->reload->is_asked;
}

/* From disk to memory in slices: the disk may be slow, and others have a loop to live in. */
static void copy_due(uv_timer_t *timer)
{
	struct session *session = timer->data;
	struct reload *reload = session->reload;
	struct err err = {0};
	uint64_t end;

	if (reload == NULL || session->sandbox == NULL)
		return;
	end = reload->copied + SLICE < reload->size ? reload->copied + SLICE : reload->size;
	while (reload->copied < end) {
		ssize_t n = sendfile(reload->memfd, reload->source, NULL, end - reload->copied);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			(void)err_sys(&err, "read a state");
			fail(reload, &err);
			return;
		}
		reload->copied += (uint64_t)n;
	}
	if (reload->copied < reload->size) {
		(void)uv_timer_start(&session->again, copy_due, 0, 0);
		return;
	}
	drop_fd(&reload->source);
	import_part(reload);
}

static void next_part(struct reload *reload)
{
	struct session *session = reload->session;
	struct err err = {0};
	int r;

	reload->copied = 0;
	r = stored_read(session->stored, reload->is_files ? NULL : reload->state.id,
			reload->state.files, &reload->source, &reload->size, &err);
	if (r == 0) {
		(void)posix_fadvise(reload->source, 0, 0, POSIX_FADV_WILLNEED);
		drop_fd(&reload->memfd);
		reload->memfd = memfd_create("state", MFD_CLOEXEC);
		if (reload->memfd < 0)
			r = err_sys(&err, "memfd");
	}
	if (r < 0)
		fail(reload, &err);
	else
		(void)uv_timer_start(&session->again, copy_due, 0, 0);
}

void session_reload_failed(struct session *session, const struct err *why)
{
	fail(session->reload, why);
}

void session_reload_on(struct session *session)
{
	struct reload *reload = session->reload;

	session->state = SESSION_STARTING;
	session->files_version = ++session->files_changes;
	reload->is_files = reload->has_state && reload->state.files > 0;
	if (reload->is_files || (reload->has_state && reload->job->has_variables))
		next_part(reload);
	else
		filled(reload);
}

/* ---- begin ---- */

/* Which state: the one that was asked for, else the one the session was in, else the last. */
static const struct store_state *choose(const struct session *session, const char *asked)
{
	const struct store_state *state = NULL;

	if (session->stored == NULL)
		return NULL;
	if (asked[0] != '\0')
		return stored_find(session->stored, asked);
	if (session->kept[0] != '\0')
		state = stored_find(session->stored, session->kept);
	return state != NULL ? state : stored_last(session->stored);
}

static void take_state(struct reload *reload, const struct store_state *state)
{
	const struct store_state *now = NULL;

	reload->has_state = true;
	memcpy(reload->state.id, state->id, ID_SIZE);
	memcpy(reload->state.parent, state->parent, ID_SIZE);
	memcpy(reload->state.run, state->run, ID_SIZE);
	/* Files of that moment that could not be written: they stay as they are. */
	now = state->has_files ? state : choose(reload->session, "");
	reload->state.files = now->files;
	reload->state.created_ms = state->created_ms;
}

static int begin(struct session *session, struct reload *reload, struct err *err)
{
	const struct sessions_settings *set = &session->table->settings;
	const struct store_state *state = choose(session, reload->job->checkpoint);
	int r = 0;

	if (state == NULL && reload->job->checkpoint[0] != '\0')
		return session_no_checkpoint(session, reload->job->checkpoint, err);
	if (!reload->job->has_variables && session->sandbox != NULL && session->keep_why[0] != '\0')
		return err_set(err, ERR_CONFLICT, EIO,
			       "its files could not be written to disk, and a restart would lose "
			       "them: %s",
			       session->keep_why);
	if (session->table->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, "viv-launch is being started again");
	r = session_choose(session, reload->job->change, &reload->backend, err);
	if (r < 0)
		return r;
	if (state != NULL)
		take_state(reload, state);
	if (!session->is_counted && set->woke != NULL)
		r = set->woke(set->user, session, err);
	if (r < 0)
		return r;
	session->is_counted = true;
	return 0;
}

void session_begin_reload(struct session *session)
{
	struct reload *reload = xnew(struct reload);
	struct err err = {0};
	struct err gone = {0};

	reload->session = session;
	reload->job = STEAL(session->now);
	reload->source = reload->memfd = -1;
	buf_init(&reload->answer, RELOAD_ANSWER_MAX);
	if (begin(session, reload, &err) < 0) {
		session->now = STEAL(reload->job);
		reload_free(reload);
		session_finish_job(session, "", &err);
		/* Nobody is left waiting in one that sleeps on. */
		if (session->state == SESSION_ASLEEP)
			session_fail_jobs(session, &err);
		session_kick(session);
		return;
	}
	/* A successor finds it asleep, not half full; or lost, where it has nothing on disk. */
	if (session->sandbox != NULL && is_on_disk(session))
		session_record_end(session);
	session->reload = reload;
	if (reload->job->change != NULL)
		session_change_swap(session, reload->job->change);
	session->kind.backend = reload->backend;
	session->state = SESSION_STARTING;
	(void)err_set(&gone, ERR_CONFLICT, ECANCELED, "the session goes to another state");
	looks_fail(session, &gone);
	session_drop_keeping(session, &gone);
	session_let_sandbox_go(session);
	session->pool = session->table->pool;
	session->files = FILES_NONE;
	session->files_dirty = false;
	session->blocker[0] = '\0';
	session->created_ns = session->used_ns = now_ns();
	session_show(session);
	if (session_take_sandbox(session, &err) < 0)
		fail(reload, &err);
}
