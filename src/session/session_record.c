// SPDX-License-Identifier: Apache-2.0
/* The record of a session in the journal: written after every change, read by the next daemon,
 * which then joins it with the sandbox and the heads that the backend has kept. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "session/session_state.h"

#define RECORD_MAX (256U << 10)

/* ---- writing ---- */

static void put_checkpoint(struct buf *buf, const struct checkpoint *checkpoint)
{
	json_put(buf,
		 "{'id':%s,'parent':%s,'run':%s,'head':%u,'pid':%d,'created':%llu,'memory':%llu,"
		 "'files':%d,'not_kept':%u",
		 checkpoint->id, checkpoint->parent, checkpoint->run, checkpoint->head->number,
		 checkpoint->head->pid, (unsigned long long)checkpoint->created_ms,
		 (unsigned long long)checkpoint->memory, checkpoint->files, checkpoint->not_kept);
	if (checkpoint->name != NULL)
		json_put(buf, ",'name':%s", checkpoint->name);
	if (checkpoint->lacks != NULL)
		buf_format(buf, ",\"lacks\":%s", checkpoint->lacks);
	buf_text(buf, "}");
}

/* Writes which session this is, and in which sandbox. */
static void put_place(struct buf *buf, const struct session *session)
{
	const struct sandbox *sandbox = session->sandbox;
	/* While the session goes back, the next daemon still needs the head that died: the run in
	 * it has no verdict yet. */
	const struct head *head = session->head != NULL ? session->head : session->dead.head;
	bool is_branch = session->pipes != NULL;
	bool is_frozen = session->state == SESSION_FROZEN || session->state == SESSION_FREEZING;

	json_put(buf,
		 "{'home':%s,'name':%s,'token':%s,'policy':%s,'runtime':%s,'trust':%s,'backend':%s,"
		 "'pin':%s,'transactional':%i,'sandbox':%u,'walls':%u,'head':%d,'pid':%d,"
		 "'branch':%i,'frozen':%i,'why':%s",
		 session->home, session->name, session->token, session->policy->name,
		 session->kind.runtime->name, session->kind.trust, session->kind.backend->name,
		 session->pin != NULL ? session->pin->name : "", session->is_transactional,
		 sandbox != NULL ? sandbox->id : 0, sandbox != NULL ? sandbox->hello.walls : 0,
		 head != NULL ? (int)head->number : -1, head != NULL ? head->pid : 0, is_branch,
		 is_frozen, session->state == SESSION_LOST ? session->why.text : "");
}

int session_put_record(struct buf *buf, const struct session *session)
{
	const struct states *states = &session->states;
	const struct checkpoint *checkpoint = NULL;
	const char *joint = "";

	put_place(buf, session);
	json_put(buf,
		 ",'at':%llu,'idle_ms':%u,'ttl_ms':%u,'created':%llu,'used':%llu,'runs':%llu,"
		 "'memory':%llu,'keep':%i,'kept':%s,'files':%d,'files_dirty':%i,"
		 "'others_files':%i,'current':%s,'next':%s,'last_run':%s,'blocker':%s,"
		 "'went_back':%llu",
		 (unsigned long long)wall_ms(), session->life.idle_ms, session->life.ttl_ms,
		 (unsigned long long)session->life.created_ms,
		 (unsigned long long)session->life.used_ms, (unsigned long long)session->runs,
		 (unsigned long long)session->memory, session_is_kept(session), session->disk.state,
		 session->files.kind, session->files.is_dirty, session->files.has_others,
		 states->current, session_checkpoint_is_due(session) ? states->next : "",
		 states->last_run, states->blocker, (unsigned long long)states->went_back_ms);
	session_put_woken(session, buf);
	json_put(buf, ",'woken_run':%s", session->disk.woken_run);
	buf_text(buf, ",\"origins\":[");
	for (uint32_t i = 0; i < states->origin_count; i++)
		json_put(buf, i > 0 ? ",{'session':%s,'run':%s}" : "{'session':%s,'run':%s}",
			 states->origins[i].session, states->origins[i].run);
	buf_text(buf, "],\"since\":[");
	for (uint32_t i = 0; i < session->back.since_count; i++)
		json_put(buf, i > 0 ? ",%s" : "%s", session->back.since[i]);
	buf_text(buf, "],\"checkpoints\":[");
	TAILQ_FOREACH(checkpoint, &states->live, entry) {
		if (checkpoint->head == NULL)
			continue;
		buf_text(buf, joint);
		put_checkpoint(buf, checkpoint);
		joint = ",";
	}
	return buf_text(buf, "]}");
}

static void append(struct session *session, enum journal_type type, const struct buf *data)
{
	struct journal_record record = {
		.type = type,
		.data = data != NULL ? data->data : NULL,
		.size = data != NULL ? data->size : 0,
	};
	struct err err = {0};

	(void)snprintf(record.id, sizeof(record.id), "%.31s", session->id);
	if (journal_append(*session->table->settings.journal, &record, NULL, 0, &session->place,
			   &err) < 0)
		log_event(LOG_LEVEL_ERROR, "session.record", "session=%s why=%s", session->id,
			  err.text);
}

int session_store_record(struct session *session, struct err *err)
{
	struct buf text;
	int r;

	if (session->disk.stored == NULL)
		return 0;
	buf_init(&text, STORE_RECORD_MAX);
	r = session_put_record(&text, session);
	if (r < 0)
		r = err_set(err, ERR_INTERNAL, -r, "no memory for the record");
	else
		r = stored_set_record(session->disk.stored, &text, err);
	buf_done(&text);
	return r;
}

void session_record(struct session *session)
{
	struct buf text;
	struct err err = {0};

	buf_init(&text, RECORD_MAX);
	/* The record of a sleeping session is in the store, not in the journal. */
	if (session->state == SESSION_ASLEEP && session_store_record(session, &err) < 0)
		log_event(LOG_LEVEL_ERROR, "session.record", "session=%s why=%s", session->id,
			  err.text);
	else if (session->state != SESSION_ASLEEP && session_put_record(&text, session) == 0)
		append(session, JOURNAL_SESSION, &text);
	buf_done(&text);
	session_show(session);
}

void session_record_end(struct session *session)
{
	append(session, JOURNAL_SESSION_END, NULL);
}

static void rewrite(void *user, struct session *session)
{
	(void)user;
	/* A session that waits for the backend after a restart has nothing new to record. */
	if (session->former == NULL && session->state != SESSION_STARTING &&
	    session->disk.reload == NULL)
		session_record(session);
}

void sessions_rewrite(struct sessions *sessions)
{
	sessions_each(sessions, rewrite, NULL);
}

static void look_floor(void *user, struct session *session)
{
	uint32_t *floor = user;

	if (session->place.segment != 0 && session->place.segment < *floor)
		*floor = session->place.segment;
}

uint32_t sessions_floor(const struct sessions *sessions)
{
	uint32_t floor = UINT32_MAX;

	sessions_each((struct sessions *)(uintptr_t)sessions, look_floor, &floor);
	return floor;
}

/* ---- reading ---- */

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL ? text : "";
}

static uint64_t number_of(const json_t *object, const char *name)
{
	json_int_t number = json_integer_value(json_object_get(object, name));

	return number > 0 ? (uint64_t)number : 0;
}

static void copy_id(char ret_id[ID_SIZE], const char *text)
{
	(void)snprintf(ret_id, ID_SIZE, "%s", text);
}

static void read_since(struct session *session, const json_t *list)
{
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(list, i, item) {
		const char *run = json_string_value(item);

		if (run != NULL)
			back_note_run(&session->back, run);
	}
}

static void read_origins(struct session *session, const json_t *list)
{
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(list, i, item)
		states_add_origin(&session->states, text_of(item, "session"), text_of(item, "run"));
}

static void read_checkpoints(struct session *session, const json_t *list)
{
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(list, i, item) {
		struct checkpoint *checkpoint = xnew(struct checkpoint);

		copy_id(checkpoint->id, text_of(item, "id"));
		copy_id(checkpoint->parent, text_of(item, "parent"));
		copy_id(checkpoint->run, text_of(item, "run"));
		if (json_object_get(item, "name") != NULL)
			checkpoint->name = xstrdup(text_of(item, "name"));
		checkpoint->lacks = json_dumps(json_object_get(item, "lacks"), JSON_COMPACT);
		checkpoint->created_ms = number_of(item, "created");
		checkpoint->memory = number_of(item, "memory");
		checkpoint->not_kept = (uint32_t)number_of(item, "not_kept");
		checkpoint->files = (enum checkpoint_files)number_of(item, "files");
		checkpoint->former.number = (uint32_t)number_of(item, "head");
		checkpoint->former.pid = (pid_t)number_of(item, "pid");
		TAILQ_INSERT_TAIL(&session->states.live, checkpoint, entry);
	}
}

/* Reads how the session was made. Fails if its policy or runtime is gone from the config. */
static int read_ask(const struct config *config, const json_t *record, struct session_ask *ask,
		    struct err *err)
{
	struct policy_grant grant = {0};
	int r;

	*ask = (struct session_ask){
		.name = text_of(record, "name"),
		.token = text_of(record, "token"),
		.policy = config_policy(config, text_of(record, "policy"), err),
		.idle_ms = (uint32_t)number_of(record, "idle_ms"),
		.ttl_ms = (uint32_t)number_of(record, "ttl_ms"),
		.is_transactional = json_is_true(json_object_get(record, "transactional")),
		.is_kept = json_is_true(json_object_get(record, "keep")),
	};
	if (ask->policy == NULL)
		return -ENOENT;
	ask->kind.runtime = config_runtime(config, text_of(record, "runtime"), err);
	if (ask->kind.runtime == NULL)
		return -ENOENT;
	r = policy_narrow(ask->policy, NULL, &grant, err);
	if (r < 0)
		return r;
	ask->kind.plan = grant.plan;
	ask->kind.trust = text_of(record, "trust");
	/* Records of older versions name no backend, since there was only one. */
	ask->kind.backend = backend_find(text_of(record, "backend"));
	if (ask->kind.backend == NULL)
		ask->kind.backend = &backend_namespace;
	if (text_of(record, "pin")[0] != '\0') {
		ask->pin = backend_find(text_of(record, "pin"));
		if (ask->pin == NULL)
			return err_set(err, ERR_NOT_FOUND, ENOENT, "there is no backend %.80s",
				       text_of(record, "pin"));
	}
	ask->kind.data = ask->policy->data[0] != '\0' ? ask->policy->data : NULL;
	return 0;
}

static bool read_session(struct sessions *sessions, const char *id, const json_t *record,
			 struct journal_place place)
{
	struct session *session = NULL;
	struct session_ask ask;
	struct err err = {0};

	if (read_ask(sessions->settings.config, record, &ask, &err) < 0) {
		log_event(LOG_LEVEL_WARNING, "session.replay", "session=%s why=%s", id, err.text);
		return false;
	}
	session = session_new(sessions, id, &ask);
	session->former = xnew(struct former);
	session->files.version = 0;
	session->place = place;
	copy_id(session->home, text_of(record, "home"));
	copy_id(session->states.current, text_of(record, "current"));
	copy_id(session->states.last_run, text_of(record, "last_run"));
	copy_id(session->disk.state, text_of(record, "kept"));
	copy_id(session->disk.woken_run, text_of(record, "woken_run"));
	session->disk.woken = json_incref(json_object_get(record, "woken"));
	(void)snprintf(session->states.blocker, sizeof(session->states.blocker), "%s",
		       text_of(record, "blocker"));
	copy_id(session->states.next, text_of(record, "next"));
	session->former->sandbox = (uint32_t)number_of(record, "sandbox");
	session->former->walls = (uint32_t)number_of(record, "walls");
	session->former->head.number = UINT32_MAX; /* a sleeping session has no head */
	if (json_integer_value(json_object_get(record, "head")) >= 0)
		session->former->head.number = (uint32_t)number_of(record, "head");
	session->former->head.pid = (pid_t)number_of(record, "pid");
	session->life.created_ms = number_of(record, "created");
	session->life.used_ms = number_of(record, "used");
	session->runs = number_of(record, "runs");
	session->memory = number_of(record, "memory");
	session->states.went_back_ms = number_of(record, "went_back");
	session->files.kind = (enum checkpoint_files)number_of(record, "files");
	session->files.is_dirty = json_is_true(json_object_get(record, "files_dirty"));
	session->files.has_others = json_is_true(json_object_get(record, "others_files"));
	if (json_is_true(json_object_get(record, "frozen")))
		session->state = SESSION_FROZEN;
	if (text_of(record, "why")[0] != '\0') {
		(void)err_set(&session->why, ERR_CONFLICT, ESTALE, "%s", text_of(record, "why"));
		session->state = SESSION_LOST;
	}
	read_origins(session, json_object_get(record, "origins"));
	read_since(session, json_object_get(record, "since"));
	read_checkpoints(session, json_object_get(record, "checkpoints"));
	return true;
}

void sessions_replay(struct sessions *sessions, const struct journal_record *record,
		     struct journal_place place)
{
	struct replayed *replayed = NULL;
	size_t bucket = session_bucket(record->id);

	if (record->type != JOURNAL_SESSION && record->type != JOURNAL_SESSION_END)
		return;
	LIST_FOREACH(replayed, &sessions->replayed[bucket], entry) {
		if (strcmp(replayed->id, record->id) == 0)
			break;
	}
	if (replayed != NULL && record->type == JOURNAL_SESSION_END) {
		LIST_REMOVE(replayed, entry);
		free(replayed);
	} else if (replayed != NULL) {
		replayed->place = place;
	} else if (record->type == JOURNAL_SESSION) {
		replayed = xnew(struct replayed);
		copy_id(replayed->id, record->id);
		replayed->place = place;
		LIST_INSERT_HEAD(&sessions->replayed[bucket], replayed, entry);
	}
}

static void make_again(struct sessions *sessions, const struct replayed *replayed)
{
	struct journal_record record;
	struct err err = {0};
	json_t *object = NULL;

	if (journal_read(*sessions->settings.journal, replayed->place, &record, &err) < 0)
		return;
	object = json_loadb(record.data, record.size, 0, NULL);
	if (json_is_object(object))
		(void)read_session(sessions, replayed->id, object, replayed->place);
	json_decref(object);
}

void sessions_replayed(struct sessions *sessions)
{
	for (size_t i = 0; i < SESSION_BUCKETS; i++) {
		struct replayed *replayed = NULL;

		while ((replayed = LIST_FIRST(&sessions->replayed[i])) != NULL) {
			LIST_REMOVE(replayed, entry);
			make_again(sessions, replayed);
			free(replayed);
		}
	}
}

/* ---- sessions asleep on disk ---- */

static bool found(void *user, struct stored *stored, const json_t *record)
{
	struct sessions *sessions = user;
	const struct sessions_settings *set = &sessions->settings;
	struct session *session = sessions_find(sessions, stored->id);

	if (session == NULL) {
		if (stored_last(stored) == NULL ||
		    !read_session(sessions, stored->id, record, (struct journal_place){0}))
			return false;
		session = sessions_find(sessions, stored->id);
		session_have_stored(session, stored);
		while (!TAILQ_EMPTY(&session->states.live))
			session_free_checkpoint(session, TAILQ_FIRST(&session->states.live));
		/* The record is as old as the last state that could be written: runs since then are
		 * counted from their logs. */
		if (number_of(record, "at") > 0)
			session->runs += session_runs_since(session, number_of(record, "at"), NULL);
		free(STEAL(session->former));
		session->states.next[0] = '\0';
		session->state = SESSION_ASLEEP;
		session->disk.keep = KEEP_DONE;
		session->memory = 0;
		session->states.blocker[0] = '\0';
		copy_id(session->home, session->id);
		copy_id(session->states.current, session_waking_state(session)->id);
		session_open_log(session);
		session->is_counted = false;
		if (set->slept != NULL)
			set->slept(set->user, session);
	}
	session_have_stored(session, stored);
	return true;
}

void sessions_open_store(struct sessions *sessions, struct store *store)
{
	sessions->store = store;
	store_scan(store, found, sessions);
}

/* ---- what the backend has kept ---- */

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

	if (session->former == NULL || session->sandbox != NULL || session->state == SESSION_LOST ||
	    session->former->sandbox != kept->sandbox->id || strcmp(session->home, kept->name) != 0)
		return;
	session->sandbox = kept->sandbox;
	session->sandbox->sessions++;
	session->sandbox->hello.walls =
		session->former->walls; /* HELLO went to the previous daemon */
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

/* The pid of a sandbox's first head is not in the record; its number, 0, is enough. */
static bool is_process(const struct kept *kept, const struct former_head *head)
{
	return kept->number == head->number && (head->number == 0 || kept->pid == head->pid);
}

static struct checkpoint *wanted_checkpoint(const struct session *session, const struct kept *kept)
{
	struct checkpoint *checkpoint = NULL;

	TAILQ_FOREACH(checkpoint, &session->states.live, entry) {
		if (checkpoint->head == NULL && is_process(kept, &checkpoint->former))
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

	if (kept->is_claimed || session->former == NULL || session->sandbox != kept->sandbox)
		return;
	checkpoint = wanted_checkpoint(session, kept);
	if (checkpoint == NULL && !is_process(kept, &session->former->head))
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

/* ---- after everything kept was claimed ---- */

struct attach {
	const struct sessions_resume *resume;
	struct session *session;
	struct log *log; /* of the run that was under way */
};

static bool is_of(const struct log *log, const char *session)
{
	struct log_head head;

	return log_head(log, &head) && span_is(head.session, session);
}

/* Only a run that had begun has a note; runs that waited behind it never begin. */
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
		       session->sandbox, resume->calls, user, &session->run, &err) < 0) {
		/* It is not known what the head is doing, so it is dropped. */
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
	struct checkpoint *checkpoint = TAILQ_FIRST(&session->states.live);

	while (checkpoint != NULL) {
		struct checkpoint *next = TAILQ_NEXT(checkpoint, entry);

		if (checkpoint->head == NULL)
			session_free_checkpoint(session, checkpoint);
		checkpoint = next;
	}
}

/* Frames of checkpoints belong to no run. They were not read until now, since one of them could
 * have been the end of a run. */
static void hear_checkpoints(struct session *session)
{
	struct checkpoint *checkpoint = NULL;

	TAILQ_FOREACH(checkpoint, &session->states.live, entry)
		head_listen(checkpoint->head);
}

/* Only the wall clock survives a reboot. If it was set back, ages begin at 0. */
static void set_ages(struct session *session)
{
	uint64_t wall = wall_ms();
	uint64_t mono = now_ns();

	session->life.created_ns = wall > session->life.created_ms
					   ? mono - (wall - session->life.created_ms) * 1000000
					   : mono;
	session->life.used_ns = wall > session->life.used_ms
					? mono - (wall - session->life.used_ms) * 1000000
					: mono;
}

static void settle(void *user, struct session *session)
{
	struct checkpoint *last = NULL;
	struct err why = {0};

	if (session->former == NULL)
		return;
	free(STEAL(session->former));
	session_open_log(session);
	set_ages(session);
	drop_headless(session);
	if (session->state == SESSION_LOST) {
		session_rest(session);
		return;
	}
	last = states_last(&session->states);
	if (session->sandbox == NULL || (session->head == NULL && last == NULL)) {
		(void)err_set(
			&why, ERR_CONFLICT, ESTALE,
			"the sandbox ended while the daemon was away, and the session with it");
		session_lose(session, &why);
		return;
	}
	hear_checkpoints(session);
	disk_set_due(&session->disk, strcmp(session->disk.state, session->states.current) != 0);
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
