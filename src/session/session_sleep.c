// SPDX-License-Identifier: Apache-2.0
/* Sessions without a sandbox, and how a new sandbox is filled: its head reads files and variables
 * of a state on disk before it does anything else. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/sendfile.h>

#include "backend/choose.h"
#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "session/session_state.h"

#define SLICE (8UL << 20) /* bytes read from disk in one turn of the loop */
#define RELOAD_ANSWER_MAX (16U << 20)
#define OTHERS_MAX 3U /* states that are named if one cannot be read */

/* A sandbox that is being filled. */
struct reload {
	struct session *session;       /* borrowed */
	struct job *job;               /* owned */
	const struct backend *backend; /* static: makes the sandbox */
	struct store_state state;      /* copy of the plain members; id "": no state to read */
	char instead_of[ID_SIZE];      /* the state that the session was at, if that is gone */
	bool is_own;                   /* the workspace that is read is that of the state */
	char *missing;                 /* owned: JSON list of what could not be restored */
	bool is_files;                 /* the workspace is being read, before the variables */
	bool is_asked;                 /* the head has been asked to read this part */
	int source, memfd;             /* owned */
	uint64_t copied, size;
	struct buf answer;
};

static void next_part(struct reload *reload);

static bool has_state(const struct reload *reload)
{
	return reload->state.id[0] != '\0';
}

/* Exchanges policy, kind and pin of the session with those of `change`. A second call undoes it. */
static void swap(struct session *session, struct session_change *change)
{
	const struct session_change is = {
		.policy = session->policy, .kind = session->kind, .pin = session->pin};

	session->policy = change->policy;
	session->kind = change->kind;
	session->pin = change->pin;
	*change = is;
}

bool session_is_changing(const struct session *session)
{
	const struct job *job = NULL;

	if (session->disk.reload != NULL && session->disk.reload->job->change != NULL)
		return true;
	TAILQ_FOREACH(job, &session->jobs, entry) {
		if (job->change != NULL)
			return true;
	}
	return false;
}

/* ---- sleep ---- */

bool session_can_sleep(const struct session *session)
{
	return session_is_kept(session) && stored_last(session->disk.stored) != NULL;
}

const struct store_state *session_waking_state(const struct session *session)
{
	const struct store_state *state = stored_find(session->disk.stored, session->disk.state);

	return state != NULL ? state : stored_last(session->disk.stored);
}

bool session_needs_state(const struct session *session, const struct store_state *state)
{
	const struct reload *reload = session->disk.reload;

	return state == session_waking_state(session) ||
	       (reload != NULL && strcmp(reload->state.id, state->id) == 0);
}

void session_lie_down(struct session *session, const struct err *why)
{
	const struct sessions_settings *set = &session->table->settings;

	session->state = SESSION_ASLEEP;
	session->why = *why;
	session->states.next[0] = '\0';
	disk_set_due(&session->disk, false);
	session->states.blocker[0] = '\0';
	(void)snprintf(session->home, sizeof(session->home), "%s", session->id);
	if (session->disk.state[0] == '\0')
		memcpy(session->disk.state, stored_last(session->disk.stored)->id, ID_SIZE);
	memcpy(session->states.current, session_waking_state(session)->id, ID_SIZE);
	(void)uv_timer_stop(&session->timers[TIMER_LIFE]);
	/* The store has everything that is needed to restore the session. A record in the journal
	 * would name a sandbox that is gone. */
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

/* ---- filling the sandbox ---- */

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
	struct reload *reload = STEAL(session->disk.reload);
	struct job *job = reload != NULL ? STEAL(reload->job) : NULL;

	if (reload == NULL)
		return;
	if (job->change != NULL)
		swap(session, job->change); /* restore its policy and kind */
	reload_free(reload);
	session->now = job;
	session_finish_job(session, "", why);
}

/* Adds names of files and variables that could not be kept: the runner reports them when it reads
 * the bytes. */
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
	return session_is_kept(session) && session->table->store != NULL;
}

static bool has_name(const json_t *facts, const json_t *name)
{
	const json_t *fact = NULL;
	size_t i = 0;

	json_array_foreach(facts, i, fact) {
		if (json_equal(json_object_get(fact, "name"), name))
			return true;
	}
	return false;
}

/* Adds the losses of an earlier wake that no run has reported. A state that was written after that
 * wake does not name them: the interpreter no longer had what was lost. */
static void add_untold(json_t *woken, const json_t *untold)
{
	json_t *missing = json_object_get(woken, "missing");
	const json_t *more = json_object_get(untold, "missing");
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *cut = NULL;

	for (size_t i = 0; i < json_array_size(more); i++) {
		json_t *fact = json_array_get(more, i);

		if (!has_name(missing, json_object_get(fact, "name")))
			(void)json_array_append(missing, fact);
	}
	text = json_dumps(missing, JSON_COMPACT);
	cut = text != NULL ? store_missing(text, strlen(text)) : NULL;
	(void)json_object_set_new(woken, "missing", json_loads(cut != NULL ? cut : "[]", 0, NULL));
	if (json_integer_value(json_object_get(woken, "undone_count")) == 0) {
		(void)json_object_set(woken, "undone", json_object_get(untold, "undone"));
		(void)json_object_set(woken, "undone_count",
				      json_object_get(untold, "undone_count"));
	}
	if (json_object_get(woken, "instead_of") == NULL && json_object_get(untold, "instead_of"))
		(void)json_object_set(woken, "instead_of", json_object_get(untold, "instead_of"));
	if (json_is_false(json_object_get(untold, "variables")))
		(void)json_object_set_new(woken, "variables", json_false());
}

/* Notes which state the session was woken from: the result of the next run says so. */
static void note_woken(struct session *session, const struct reload *reload)
{
	bool is_last = has_state(reload) && reload->job->has_variables &&
		       reload->job->checkpoint[0] == '\0';
	uint64_t since = reload->state.created_ms > session->states.went_back_ms
				 ? reload->state.created_ms
				 : session->states.went_back_ms;
	json_t *ids = json_array();
	uint64_t undone = is_last ? session_runs_since(session, since, ids) : 0;
	json_t *woken = json_pack(
		"{s:s, s:s*, s:I, s:s*, s:o, s:I, s:b, s:b, s:o*}", "state", reload->state.id,
		"instead_of", reload->instead_of[0] != '\0' ? reload->instead_of : NULL,
		"created_ms", (json_int_t)reload->state.created_ms, "after",
		reload->state.run[0] != '\0' ? reload->state.run : NULL, "undone", ids,
		"undone_count", (json_int_t)undone, "variables", reload->job->has_variables,
		"files", is_on_disk(session), "missing",
		json_loads(reload->missing != NULL ? reload->missing : "[]", 0, NULL));
	struct buf members;

	if (is_last && session->disk.woken_run[0] == '\0')
		add_untold(woken, session->disk.woken);
	json_decref(session->disk.woken);
	session->disk.woken = woken;
	session->disk.woken_run[0] = '\0';
	buf_init(&members, 4UL * STORE_MISSING_MAX);
	session_put_woken(session, &members);
	if (members.failed == 0 && members.size > 0)
		session_tell(session, "woken", buf_string(&members));
	buf_done(&members);
}

/* Is this number known as that of the session's workspace? */
static bool is_workspace(const struct session *session, uint64_t number)
{
	const struct stored *stored = session->disk.stored;

	return stored != NULL && stored->has_workspace && stored->workspace == number;
}

/* The session is at the state that was read. Its next checkpoint gets the id of that state, or a
 * new one if variables were not read, or other files. */
static void take_place(struct session *session, const struct reload *reload, char ret_id[ID_SIZE])
{
	const struct store_state *state = &reload->state;
	struct store_files *files = NULL;
	bool is_whole = has_state(reload) && reload->job->has_variables;

	session->states.current[0] = session->states.last_run[0] = session->states.next[0] = '\0';
	id_new("cp_", ret_id);
	if (is_whole) {
		if (reload->is_own)
			memcpy(ret_id, state->id, ID_SIZE);
		memcpy(session->states.current, state->id, ID_SIZE);
		memcpy(session->states.last_run, state->run, ID_SIZE);
		memcpy(session->disk.state, state->id, ID_SIZE);
	}
	/* Versions of an earlier sandbox mean nothing now: only the workspace that was just read is
	 * known. */
	if (session->disk.stored != NULL) {
		TAILQ_FOREACH(files, &session->disk.stored->files, entry)
			files->version = files->number == state->files && state->files > 0
						 ? session->files.version
						 : 0;
	}
	session->disk.tried = 0;
	session->disk.written = is_workspace(session, state->files) ? session->files.version : 0;
	if (session->is_transactional && session->states.blocker[0] == '\0')
		memcpy(session->states.next, ret_id, ID_SIZE);
	/* After a restart the state on disk still has the variables that were to be dropped. */
	disk_set_due(&session->disk,
		     !is_whole && (session->files.is_dirty || !reload->job->has_variables));
}

static void fail(struct reload *reload, const struct err *why);

static void filled(struct reload *reload)
{
	struct session *session = reload->session;
	char id[ID_SIZE];
	struct job *job = NULL;
	struct err err = {0};

	if (reload->job->change != NULL && session_store_record(session, &err) < 0) {
		fail(reload, &err);
		(void)session_store_record(session, &err); /* with its old policy again */
		return;
	}
	session->disk.reload = NULL;
	take_place(session, reload, id);
	session->states.went_back_ms = reload->job->checkpoint[0] != '\0' ? wall_ms()
				       : reload->job->has_variables ? session->states.went_back_ms
								    : 0;
	note_woken(session, reload);
	session->state = SESSION_IDLE;
	log_event(LOG_LEVEL_INFO, "session.wake", "session=%s checkpoint=%s", session->id,
		  reload->state.id);
	session_record(session);
	job = STEAL(reload->job);
	reload_free(reload);
	session->now = job;
	session_finish_job(session, id, NULL);
	session_kick(session);
}

static void fail(struct reload *reload, const struct err *why)
{
	struct session *session = reload->session;
	struct err copy = *why;

	if (session->state == SESSION_ASLEEP || session->state == SESSION_LOST ||
	    session->state == SESSION_CLOSED)
		return; /* session_let_go is under way */
	if (reload->job->change != NULL)
		(void)err_wrap(&copy, is_on_disk(session) ? "the session is unchanged, and asleep"
							  : "the session is lost");
	if (session_can_sleep(session))
		session_sleep(session, &copy);
	else
		session_lose(session, &copy);
}

/* The state to read: the one that was asked for, else the one to wake in. */
static const struct store_state *choose(const struct session *session, const char *asked)
{
	return asked[0] != '\0' ? stored_find(session->disk.stored, asked)
				: session_waking_state(session);
}

/* The number of the workspace that a rollback to this state reads. If the state has no files, those
 * of the session stay. */
static uint64_t files_of(const struct session *session, const struct store_state *state)
{
	return state->has_files ? state->files
				: stored_workspace(session->disk.stored, session->disk.state);
}

/* Writes the newest states that may be readable although this part is not: "a rollback to A, B";
 * "": none. */
static void put_others(const struct reload *reload, char *text, size_t room)
{
	const struct session *session = reload->session;
	const struct store_state *state = NULL;
	size_t n = 0;
	uint32_t count = 0;

	text[0] = '\0';
	TAILQ_FOREACH_REVERSE(state, &session->disk.stored->states, store_states, entry)
	{
		if (strcmp(state->id, reload->state.id) == 0 || count == OTHERS_MAX ||
		    (reload->is_files && files_of(session, state) == reload->state.files))
			continue;
		n += (size_t)snprintf(text + n, room - n, "%s%s",
				      count == 0 ? "a rollback to " : ", ", state->id);
		count++;
	}
}

/* The daemon is out of a resource for now, which says nothing about the state on disk. */
static bool is_shortage(const struct err *why)
{
	return why->kind == ERR_INTERNAL && (why->num == ENOMEM || why->num == ENOSPC ||
					     why->num == EMFILE || why->num == ENFILE);
}

/* The state cannot be read: adds to `err` how the session can continue, and sets EBADMSG, from
 * which the remedy follows. */
static void say_unread(const struct reload *reload, struct err *err)
{
	char others[OTHERS_MAX * (ID_SIZE + 2) + 32];
	const struct err why = *err;

	if (!has_state(reload) || !is_on_disk(reload->session) || reload->job->change != NULL ||
	    is_shortage(&why))
		return;
	put_others(reload, others, sizeof(others));
	/* A restart reads the same files. */
	if (reload->is_files)
		(void)err_set(err, ERR_CONFLICT, EBADMSG,
			      "the files of the state %s cannot be read: %.200s; %s%s",
			      reload->state.id, why.text, others[0] != '\0' ? "try " : "",
			      others[0] != '\0' ? others : "no other state has other files");
	else
		(void)err_set(err, ERR_CONFLICT, EBADMSG,
			      "the state %s cannot be read: %.200s; try %s%sa restart, which keeps "
			      "the files",
			      reload->state.id, why.text, others, others[0] != '\0' ? ", or " : "");
}

static void unread(struct reload *reload, const struct err *why)
{
	struct err copy = *why;

	say_unread(reload, &copy);
	fail(reload, &copy);
}

void session_say_unread(const struct session *session, const struct box_exit *facts,
			struct err *err)
{
	const struct reload *reload = session->disk.reload;
	uint64_t limit_ms = session->policy->timeout_max_ms;

	if (facts != NULL && facts->cause == BOX_CAUSE_DEADLINE)
		(void)err_set(err, ERR_CONFLICT, ETIMEDOUT, "reading it took longer than %llu s",
			      (unsigned long long)limit_ms / 1000);
	else if (facts != NULL && (facts->cause == BOX_CAUSE_MEMORY || facts->oom_kills > 0))
		(void)err_set(err, ERR_CONFLICT, ENOMEM,
			      "reading it takes more memory than the session has");
	else if (err->kind == ERR_NONE)
		(void)err_set(err, ERR_CONFLICT, ECHILD, "reading it ended the interpreter");
	say_unread(reload, err);
}

static void take_answer(void *user, const char *json, size_t size)
{
	struct reload *reload = user;

	buf_consume(&reload->answer, reload->answer.size);
	(void)buf_append(&reload->answer, json, size);
}

/* Whether all files of the stored workspace could be written to the new one. */
static bool are_all_here(const struct reload *reload, const char *lost, size_t size)
{
	json_auto_t *now = json_loadb(lost, size, 0, NULL);
	json_auto_t *before = NULL;
	const struct store_files *files = NULL;

	TAILQ_FOREACH(files, &reload->session->disk.stored->files, entry) {
		if (files->number == reload->state.files && files->missing != NULL)
			before = json_loads(files->missing, 0, NULL);
	}
	return json_is_array(now) && json_array_size(now) <= json_array_size(before);
}

static void imported(void *user, const struct look_state *state, const struct err *why)
{
	struct session *session = user;
	struct reload *reload = session->disk.reload;
	const char *lost = NULL;
	size_t size = 0;
	struct err err = {0};

	(void)state;
	if (reload == NULL)
		return; /* the reload was dropped meanwhile */
	reload->is_asked = false;
	if (why != NULL) {
		(why->kind == ERR_BUSY ? fail : unread)(reload, why);
		return;
	}
	if (!json_find(reload->answer.data, reload->answer.size, "lost", &lost, &size)) {
		(void)err_set(&err, ERR_CONFLICT, EIO, "its bytes are damaged");
		unread(reload, &err);
		return;
	}
	if (reload->is_files && reload->job->change != NULL && !are_all_here(reload, lost, size)) {
		(void)err_field(&err, ERR_CONFLICT, ENOSPC, "policy",
				"not all files of the session can be written under %s",
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

	if (session->disk.reload != NULL)
		take_answer(session->disk.reload, json, size);
}

/* Tells the head to read the part: a look in the head, ahead of all waiting jobs. */
static void import_part(struct reload *reload)
{
	static const struct look_calls calls = {.answer = import_answer, .done = imported};
	struct session *session = reload->session;
	const struct look_ask ask = {
		.json = "{\"kind\":\"import\"}",
		.bytes = {.fd = reload->memfd, .size = reload->size, .is_lent = true},
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
	return session->disk.reload == NULL || session->disk.reload->is_asked;
}

/* Copies from disk to memory in slices, so that a slow disk does not block the loop. The memfd is
 * then lent to the sandbox as it is: another copy would block the loop after all. */
static void copy_due(uv_timer_t *timer)
{
	struct session *session = timer->data;
	struct reload *reload = session->disk.reload;
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
			(void)(n < 0 ? err_sys(&err, "read a state")
				     : err_set(&err, ERR_CONFLICT, EIO, "its bytes are damaged"));
			unread(reload, &err);
			return;
		}
		reload->copied += (uint64_t)n;
	}
	if (reload->copied < reload->size) {
		(void)uv_timer_start(&session->timers[TIMER_DISK], copy_due, 0, 0);
		return;
	}
	drop_fd(&reload->source);
	import_part(reload);
}

static void next_part(struct reload *reload)
{
	struct session *session = reload->session;
	struct err err = {0};

	reload->copied = 0;
	if (stored_read(session->disk.stored, reload->is_files ? NULL : reload->state.id,
			reload->state.files, &reload->source, &reload->size, &err) < 0) {
		unread(reload, &err);
		return;
	}
	(void)posix_fadvise(reload->source, 0, 0, POSIX_FADV_WILLNEED);
	drop_fd(&reload->memfd);
	reload->memfd = memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (reload->memfd < 0) {
		(void)err_sys(&err, "memfd");
		fail(reload, &err);
		return;
	}
	(void)uv_timer_start(&session->timers[TIMER_DISK], copy_due, 0, 0);
}

static void sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct session *session = user;
	struct reload *reload = session->disk.reload;

	session->ticket = NULL;
	if (sandbox == NULL) {
		fail(reload, why);
		return;
	}
	session_sit(session, sandbox);
	session->state = SESSION_STARTING;
	files_changed(&session->files);
	reload->is_files = has_state(reload) && reload->state.files > 0;
	if (reload->is_files || (has_state(reload) && reload->job->has_variables))
		next_part(reload);
	else
		filled(reload);
}

/* ---- begin ---- */

static int choose_backend(const struct session *session, const struct session_change *change,
			  const struct backend **ret_backend, struct err *err)
{
	const struct backend_host host = pool_host(session->table->pool);
	const struct backend *pin = change != NULL ? change->pin : session->pin;
	const struct policy *policy = change != NULL ? change->policy : session->policy;

	return backend_choose(&host, BACKEND_SESSION, pin != NULL ? pin->name : policy->backend,
			      false, ret_backend, err);
}

static void take_state(struct reload *reload, const struct store_state *state)
{
	const struct session *session = reload->session;
	bool is_asked = reload->job->checkpoint[0] != '\0';

	memcpy(reload->state.id, state->id, ID_SIZE);
	memcpy(reload->state.run, state->run, ID_SIZE);
	reload->state.has_files = state->has_files;
	/* A session that wakes, or is restarted, has the files that it had. */
	reload->state.files = is_asked
				      ? files_of(session, state)
				      : stored_workspace(session->disk.stored, session->disk.state);
	reload->is_own = state->has_files && state->files == reload->state.files;
	reload->state.created_ms = state->created_ms;
	if (!is_asked && reload->job->has_variables && session->disk.state[0] != '\0' &&
	    strcmp(session->disk.state, state->id) != 0)
		memcpy(reload->instead_of, session->disk.state, ID_SIZE);
}

static int begin(struct session *session, struct reload *reload, struct err *err)
{
	const struct sessions_settings *set = &session->table->settings;
	const struct store_state *state = choose(session, reload->job->checkpoint);
	bool leaves_files;
	int r = 0;

	if (state == NULL && reload->job->checkpoint[0] != '\0')
		return session_no_checkpoint(session, reload->job->checkpoint, err);
	leaves_files = !reload->job->has_variables || (state != NULL && !state->has_files);
	if (leaves_files && session->sandbox != NULL && session->disk.why[0] != '\0')
		return err_set(err, ERR_CONFLICT, EIO,
			       "the session's files could not be written to disk, and a %s "
			       "would lose them: %s",
			       reload->job->has_variables ? "rollback to this state" : "restart",
			       session->disk.why);
	if (session->table->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, POOL_AWAY);
	r = choose_backend(session, reload->job->change, &reload->backend, err);
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
		/* The session stays asleep, so everything that waits for it fails. */
		if (session->state == SESSION_ASLEEP)
			session_fail_jobs(session, &err);
		session_kick(session);
		return;
	}
	/* If this daemon is killed now, the next one finds the session asleep, or lost if it has
	 * nothing on disk, but never half filled. */
	if (session->sandbox != NULL && is_on_disk(session))
		session_record_end(session);
	session->disk.reload = reload;
	if (reload->job->change != NULL)
		swap(session, reload->job->change);
	session->kind.backend = reload->backend;
	session->state = SESSION_STARTING;
	(void)err_set(&gone, ERR_CONFLICT, ECANCELED, "the session changes to another state");
	looks_fail(session, &gone);
	session_drop_keeping(session, &gone);
	session_let_sandbox_go(session);
	session->files.kind = FILES_NONE;
	session->files.is_dirty = session->files.has_others = false;
	session->files.is_left =
		has_state(reload) && reload->job->checkpoint[0] != '\0' && !reload->state.has_files;
	session->states.blocker[0] = '\0';
	session->life.created_ns = session->life.used_ns = now_ns();
	session_show(session);
	if (pool_take(session->table->pool, &session->kind, sandbox_taken, session,
		      &session->ticket, &err) < 0)
		fail(reload, &err);
}
