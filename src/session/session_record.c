// SPDX-License-Identifier: Apache-2.0
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

static int put_member(struct buf *buf, const char *name, const char *text)
{
	buf_text(buf, ",");
	json_put_text(buf, name);
	buf_text(buf, ":");

	json_put_text(buf, text);
	return buf->failed;
}

static int put_checkpoint(struct buf *buf, const struct checkpoint *checkpoint, bool is_first)
{
	buf_format(buf, "%s{\"head\":%u,\"pid\":%d,\"created\":%llu,\"memory\":%llu,\"files\":%d",
		   is_first ? "" : ",", checkpoint->head->number, checkpoint->head->pid,
		   (unsigned long long)checkpoint->created_ms,
		   (unsigned long long)checkpoint->memory, checkpoint->files);
	put_member(buf, "id", checkpoint->id);
	put_member(buf, "parent", checkpoint->parent);
	put_member(buf, "run", checkpoint->run);
	if (checkpoint->name != NULL)
		put_member(buf, "name", checkpoint->name);
	buf_text(buf, "}");
	return buf->failed;
}

static int put_texts(struct buf *buf, const struct session *session)
{
	const struct {
		const char *name, *text;
	} texts[] = {
		{"home", session->home},
		{"name", session->name},
		{"token", session->token},
		{"policy", session->policy->name},
		{"runtime", session->kind.runtime->name},
		{"trust", session->kind.trust},
		{"backend", session->kind.backend->name},
		{"pin", session->pin != NULL ? session->pin->name : ""},
		{"current", session->current},
		{"last_run", session->last_run},
		{"blocker", session->blocker},
		{"next", session->needs_checkpoint ? session->next : ""},
		{"why", session->state == SESSION_LOST ? session->why.text : ""},
		{"kept", session->kept},
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		put_member(buf, texts[i].name, texts[i].text);
	return buf->failed;
}

static int put_origins(struct buf *buf, const struct session *session)
{
	buf_text(buf, ",\"origins\":[");
	for (uint32_t i = 0; i < session->origin_count; i++)
		buf_format(buf, "%s{\"session\":\"%s\",\"run\":\"%s\"}", i > 0 ? "," : "",
			   session->origins[i].session, session->origins[i].run);
	return buf_text(buf, "]");
}

int session_put_record(struct buf *buf, const struct session *session)
{
	const struct checkpoint *checkpoint = NULL;
	bool is_first = true;

	buf_format(buf,
		   "{\"sandbox\":%u,\"head\":%d,\"pid\":%d,\"transactional\":%s,\"frozen\":%s,"
		   "\"branch\":%s,\"keep\":%s,"
		   "\"idle_ms\":%u,\"ttl_ms\":%u,\"created\":%llu,\"used\":%llu,\"runs\":%llu,"
		   "\"memory\":%llu,\"files\":%d,\"files_dirty\":%s",
		   session->sandbox_id, session->head != NULL ? (int)session->head->number : -1,
		   session->head != NULL ? session->head->pid : 0,
		   session->is_transactional ? "true" : "false",
		   session->state == SESSION_FROZEN || session->state == SESSION_FREEZING ? "true"
											  : "false",
		   session->pipes != NULL ? "true" : "false", session->is_kept ? "true" : "false",
		   session->idle_ms, session->ttl_ms, (unsigned long long)session->created_ms,
		   (unsigned long long)session->used_ms, (unsigned long long)session->runs,
		   (unsigned long long)session->memory, session->files,
		   session->files_dirty ? "true" : "false");
	put_texts(buf, session);
	put_origins(buf, session);
	buf_text(buf, ",\"since\":[");
	for (uint32_t i = 0; i < session->since_count; i++)
		buf_format(buf, "%s\"%s\"", i > 0 ? "," : "", session->since[i]);
	buf_text(buf, "],\"checkpoints\":[");
	TAILQ_FOREACH(checkpoint, &session->checkpoints, entry) {
		if (checkpoint->head != NULL)
			put_checkpoint(buf, checkpoint, is_first);
		is_first = is_first && checkpoint->head == NULL;
	}
	buf_text(buf, "]}");
	return buf->failed;
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

void session_record(struct session *session)
{
	struct buf text;
	struct err err = {0};

	/* The store makes it again; what changed of it is written there. */
	if (session->state == SESSION_ASLEEP) {
		buf_init(&text, RECORD_MAX);
		if (session_put_record(&text, session) == 0 &&
		    stored_set_record(session->stored, &text, &err) < 0)
			log_event(LOG_LEVEL_ERROR, "session.record", "session=%s why=%s",
				  session->id, err.text);
		buf_done(&text);
		session_show(session);
		return;
	}
	buf_init(&text, RECORD_MAX);
	if (session_put_record(&text, session) == 0)
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
	/* One that waits for launch to tell of its sandbox has nothing new to say. */
	if (!session->is_restored && session->state != SESSION_STARTING && session->reload == NULL)
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
			session_note_run(session, run);
	}
}

static void read_origins(struct session *session, const json_t *list)
{
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(list, i, item)
		session_add_origin(session, text_of(item, "session"), text_of(item, "run"));
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
			checkpoint->name = strdup(text_of(item, "name"));
		checkpoint->created_ms = number_of(item, "created");
		checkpoint->memory = number_of(item, "memory");
		checkpoint->files = (enum checkpoint_files)number_of(item, "files");
		checkpoint->head_number = (uint32_t)number_of(item, "head");
		checkpoint->head_pid = (pid_t)number_of(item, "pid");
		TAILQ_INSERT_TAIL(&session->checkpoints, checkpoint, entry);
	}
}

/* How it can be run again: its policy and runtime must still be there. */
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
	/* Records of an older viv name none: there was one. */
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
	session = session_new(sessions, id);
	session_copy_ask(session, &ask);
	session->is_restored = true;
	session->files_version = 0;
	session->place = place;
	copy_id(session->home, text_of(record, "home"));
	copy_id(session->current, text_of(record, "current"));
	copy_id(session->last_run, text_of(record, "last_run"));
	copy_id(session->kept, text_of(record, "kept"));
	(void)snprintf(session->blocker, sizeof(session->blocker), "%s",
		       text_of(record, "blocker"));
	copy_id(session->next, text_of(record, "next"));
	session->needs_checkpoint = session->next[0] != '\0';
	session->sandbox_id = (uint32_t)number_of(record, "sandbox");
	session->head_number = UINT32_MAX; /* one that sleeps has none */
	if (json_integer_value(json_object_get(record, "head")) >= 0)
		session->head_number = (uint32_t)number_of(record, "head");
	session->head_pid = (pid_t)number_of(record, "pid");
	session->created_ms = number_of(record, "created");
	session->used_ms = number_of(record, "used");
	session->runs = number_of(record, "runs");
	session->memory = number_of(record, "memory");
	session->files = (enum checkpoint_files)number_of(record, "files");
	session->files_dirty = json_is_true(json_object_get(record, "files_dirty"));
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

/* ---- what sleeps on disk ---- */

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
		while (!TAILQ_EMPTY(&session->checkpoints))
			session_free_checkpoint(session, TAILQ_FIRST(&session->checkpoints));
		session->is_restored = session->needs_checkpoint = false;
		session->state = SESSION_ASLEEP;
		session->is_kept = true;
		session->sandbox_id = 0;
		session->blocker[0] = '\0';
		copy_id(session->home, session->id);
		copy_id(session->current, session->kept);
		session_open_log(session);
		session->is_counted = false;
		if (set->slept != NULL)
			set->slept(set->user, session);
	}
	session->stored = stored;
	return true;
}

void sessions_open_store(struct sessions *sessions, struct store *store)
{
	sessions->store = store;
	store_scan(store, found, sessions);
}

static void hurry(void *user, struct session *session)
{
	(void)user;
	if (session_keep_is_due(session))
		session_kick(session);
}

void sessions_stop(struct sessions *sessions)
{
	sessions->is_stopping = true;
	sessions_each(sessions, hurry, NULL);
}

static void look_due(void *user, struct session *session)
{
	bool *is_due = user;

	*is_due |= session->sandbox != NULL && session_keep_is_due(session);
}

bool sessions_are_keeping(struct sessions *sessions)
{
	bool is_due = false;

	sessions_each(sessions, look_due, &is_due);
	return is_due;
}
