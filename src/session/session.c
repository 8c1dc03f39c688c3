// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "base/log.h"
#include "session/session_state.h"

#define NAMES_MAX 5U /* checkpoints that are named in a refusal */
#define NAME_SHOWN_MAX 40

/* ---- the table ---- */

size_t session_bucket(const char *id)
{
	uint32_t hash = 2166136261U;

	for (; *id != '\0'; id++)
		hash = (hash ^ (uint8_t)*id) * 16777619U;
	return hash % SESSION_BUCKETS;
}

struct sessions *sessions_new(const struct sessions_settings *settings, struct logs *logs)
{
	struct sessions *sessions = xnew(struct sessions);

	sessions->settings = *settings;
	sessions->logs = logs;
	return sessions;
}

void sessions_free(struct sessions *sessions)
{
	if (sessions == NULL)
		return;
	for (size_t i = 0; i < SESSION_BUCKETS; i++) {
		while (!LIST_EMPTY(&sessions->buckets[i]))
			session_close(LIST_FIRST(&sessions->buckets[i]));
	}
	free(sessions);
}

void sessions_set_pool(struct sessions *sessions, struct pool *pool)
{
	sessions->pool = pool;
}

struct session *sessions_find(struct sessions *sessions, const char *id)
{
	struct session *session = NULL;

	LIST_FOREACH(session, &sessions->buckets[session_bucket(id)], entry) {
		if (strcmp(session->id, id) == 0)
			return session;
	}
	return NULL;
}

void sessions_each(struct sessions *sessions, void (*each)(void *user, struct session *session),
		   void *user)
{
	for (size_t i = 0; i < SESSION_BUCKETS; i++) {
		struct session *session = LIST_FIRST(&sessions->buckets[i]);

		while (session != NULL) {
			struct session *next = LIST_NEXT(session, entry); /* `each` may end it */

			each(user, session);
			session = next;
		}
	}
}

static void close_one(void *user, struct session *session)
{
	(void)user;
	session_close(session);
}

void sessions_leave(struct sessions *sessions)
{
	sessions->is_leaving = true;
	sessions_each(sessions, close_one, NULL);
}

uint32_t sessions_count(const struct sessions *sessions)
{
	return sessions->count;
}

/* ---- life ---- */

void session_tell(struct session *session, const char *type, const char *members)
{
	struct err err = {0};

	if (session->log != NULL && log_add(session->log, type, members, strlen(members), NULL,
					    strcmp(type, "ended") == 0, &err) < 0)
		log_event(LOG_LEVEL_ERROR, "session.log", "session=%s why=%s", session->id,
			  err.text);
}

/* The session's own events (warnings, freezing, rollbacks) also have a log. */
void session_open_log(struct session *session)
{
	static const char head[] = "{\"op\":\"session\"}";
	struct err err = {0};

	session->log = logs_find(session->table->logs, session->id);
	if (session->log != NULL)
		return;
	if (logs_add(session->table->logs, session->id, head, sizeof(head) - 1, "", 0,
		     &session->log, &err) < 0)
		log_event(LOG_LEVEL_ERROR, "session.log", "session=%s why=%s", session->id,
			  err.text);
}

static void handle_closed(uv_handle_t *handle)
{
	struct session *session = handle->data;

	session->handles--;
	if (session->handles > 0)
		return;
	free(session->name);
	free(session->token);
	json_decref(session->disk.woken);
	free(session->former);
	free(session->states.origins);
	buf_done(&session->back.members);
	free((char *)(uintptr_t)session->kind.trust);
	free((char *)(uintptr_t)session->kind.data);
	free(session);
}

static void copy_ask(struct session *session, const struct session_ask *ask)
{
	const struct sessions_settings *set = &session->table->settings;

	session->name = xtext(ask->name);
	session->token = xtext(ask->token);
	session->policy = ask->policy;
	session->pin = ask->pin;
	session->kind = ask->kind;
	session->kind.trust = xtext(ask->kind.trust);
	session->kind.data = xstrdup(ask->kind.data);
	session->life.idle_ms = ask->idle_ms > 0 ? ask->idle_ms : set->idle_ms;
	session->life.ttl_ms = ask->ttl_ms > 0 ? ask->ttl_ms : set->ttl_ms;
	session->is_transactional = ask->is_transactional;
	session->disk.keep = ask->is_kept ? KEEP_DONE : KEEP_OFF;
	session->is_counted = true;
	if (set->begun != NULL)
		set->begun(set->user, session); /* after its token is set */
}

struct session *session_new(struct sessions *sessions, const char *id,
			    const struct session_ask *ask)
{
	struct session *session = xnew(struct session);

	if (id != NULL)
		(void)snprintf(session->id, sizeof(session->id), "%s", id);
	else
		id_new("ses_", session->id);
	(void)snprintf(session->home, sizeof(session->home), "%s", session->id);
	session->table = sessions;
	session->life.created_ms = session->life.used_ms = wall_ms();
	session->life.created_ns = session->life.used_ns = now_ns();
	session->files.version = session->files.changes = 1;
	buf_init(&session->back.members, RUN_LEFT_MAX);
	TAILQ_INIT(&session->states.live);
	TAILQ_INIT(&session->jobs);
	LIST_INIT(&session->looks);
	for (size_t i = 0; i < TIMER_COUNT; i++) {
		(void)uv_timer_init(sessions->settings.loop, &session->timers[i]);
		session->timers[i].data = session;
		session->handles++;
	}
	LIST_INSERT_HEAD(&sessions->buckets[session_bucket(session->id)], session, entry);
	sessions->count++;
	copy_ask(session, ask);
	return session;
}

static void tell_created(struct session *session, const struct err *why)
{
	if (session->created.call != NULL)
		STEAL(session->created.call)(session->created.user, session, why);
}

void session_sit(struct session *session, struct sandbox *sandbox)
{
	struct err err = {0};

	session->sandbox = sandbox;
	sandbox->sessions = 1;
	sandbox_take(sandbox, NULL, NULL);
	session->head = head_first(sandbox, &session_head_calls, session);
	session->state = SESSION_IDLE;
	if (sandbox_keep(sandbox, session->home, &err) < 0 || sandbox_meter(sandbox, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id,
			  err.text);
	/* After a sleep the backend may be a different one, which cannot fork. */
	if (sandbox->box->impl->fork_head == NULL)
		session->is_transactional = false;
}

void session_begin(struct session *session)
{
	if (session->is_transactional)
		states_want(&session->states);
	session_record(session);
	session_open_log(session);
	session_tell(session, "created", "");
	session_kick(session);
	tell_created(session, NULL);
}

static void sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct session *session = user;

	session->ticket = NULL;
	if (sandbox == NULL) {
		session->why = *why;
		tell_created(session, &session->why);
		session_close(session);
		return;
	}
	session_sit(session, sandbox);
	log_event(LOG_LEVEL_INFO, "session.start", "session=%s policy=%s runtime=%s", session->id,
		  session->policy->name, session->kind.runtime->name);
	session_begin(session);
}

int session_create(struct sessions *sessions, const struct session_ask *ask,
		   void (*done)(void *user, struct session *session, const struct err *why),
		   void *user, struct session **ret_session, struct err *err)
{
	struct session *session = NULL;
	int r;

	if (sessions->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, POOL_AWAY);
	session = session_new(sessions, NULL, ask);
	session->created.call = done;
	session->created.user = user;
	*ret_session = session;
	r = pool_take(sessions->pool, &session->kind, sandbox_taken, session, &session->ticket,
		      err);
	if (r < 0) {
		session->created.call = NULL;
		session_close(session);
	}
	return r;
}

/* A branch has gone, and one session is left in the sandbox: files are its own again. */
static void kick_last(struct sessions *sessions, const struct sandbox *sandbox)
{
	struct session *session = NULL;

	for (size_t i = 0; i < SESSION_BUCKETS; i++) {
		LIST_FOREACH(session, &sessions->buckets[i], entry) {
			if (session->sandbox == sandbox)
				session_kick(session);
		}
	}
}

void session_share_change(struct session *session)
{
	struct sessions *sessions = session->table;
	struct session *other = NULL;

	for (size_t i = 0; session_shares_files(session) && i < SESSION_BUCKETS; i++) {
		LIST_FOREACH(other, &sessions->buckets[i], entry) {
			if (other == session || other->sandbox != session->sandbox)
				continue;
			other->files.has_others = true;
			files_changed(&other->files);
			session_kick(other);
		}
	}
}

/* Frees the sandbox and the heads. Jobs of the queue stay: another sandbox follows. */
void session_let_sandbox_go(struct session *session)
{
	struct sandbox *sandbox = STEAL(session->sandbox);

	session_drop_branch(session);
	if (session->ticket != NULL)
		pool_untake(STEAL(session->ticket));
	head_free(STEAL(session->dead.head));
	head_free(STEAL(session->coming));
	head_free(STEAL(session->head));
	while (!TAILQ_EMPTY(&session->states.live))
		session_free_checkpoint(session, TAILQ_FIRST(&session->states.live));
	session_free_pipes(session);
	if (sandbox != NULL && sandbox->taker == session)
		sandbox->frozen = NULL;
	if (sandbox != NULL && --sandbox->sessions == 0)
		sandbox_end(sandbox);
	else if (sandbox != NULL && sandbox->sessions == 1)
		kick_last(session->table, sandbox);
	session->states.next[0] = '\0';
	session->memory = 0;
}

/* Frees the sandbox and the heads, and fails everything that waits. */
void session_let_go(struct session *session, const struct err *why)
{
	struct sandbox *sandbox = session->sandbox;

	session_drop_branch(session);
	/* The verdict of the run is made from the session as it is, so this comes first. */
	if (session->run != NULL && sandbox != NULL)
		run_abandon(session->run,
			    session->state == SESSION_CLOSED || session->state == SESSION_ASLEEP,
			    why);
	session->sandbox = NULL;
	head_free(STEAL(session->dead.head));
	looks_fail(session, why);
	session_drop_keeping(session, why);
	session_drop_reload(session, why);
	session_fail_jobs(session, why);
	session->sandbox = sandbox;
	session_let_sandbox_go(session);
}

void session_lose(struct session *session, const struct err *why)
{
	if (session->state == SESSION_LOST || session->state == SESSION_CLOSED ||
	    session->state == SESSION_ASLEEP)
		return;
	/* A session that is kept on disk comes back: its run is undone, not lost. */
	session->state = session_can_sleep(session) ? SESSION_ASLEEP : SESSION_LOST;
	session->why = *why;
	log_event(LOG_LEVEL_WARNING, "session.lost", "session=%s why=%s", session->id, why->text);
	session_tell_dead(session);
	if (session->run != NULL && session->sandbox != NULL)
		run_abandon(session->run, false, why); /* nobody has cancelled it */
	session_let_go(session, why);
	tell_created(session, why);
	if (session->state == SESSION_ASLEEP) {
		session_lie_down(session, why);
		return;
	}
	session_tell(session, "lost", "");
	session_record(session);
	session_rest(session); /* a lost session can still be read until its lifetime is over */
}

void session_close(struct session *session)
{
	session_end(session, "the session was closed");
}

void session_end(struct session *session, const char *text)
{
	bool was_asleep = session->state == SESSION_ASLEEP;
	bool sleeps;
	struct err why = {0};

	if (session->state == SESSION_CLOSED)
		return;
	(void)err_set(&why, ERR_CONFLICT, ESHUTDOWN, "%s", text);
	session->state = SESSION_CLOSED;
	session->why = why;
	session_let_go(session, &why);
	sleeps = session->table->is_leaving && session_can_sleep(session);
	/* States are removed before the journal says that the session ended: if we are killed in
	 * between, no bytes are left behind. */
	if (session->disk.stored != NULL) {
		session->disk.stored->dropping = NULL;
		session->disk.stored->is_needed = NULL;
	}
	if (session->disk.stored != NULL && !sleeps)
		stored_remove(session->disk.stored);
	session->disk.stored = NULL;
	tell_created(session, &why);
	/* The next daemon finds the session asleep and goes on with its log. */
	if (!sleeps)
		session_tell(session, "ended", "");
	else if (!was_asleep)
		session_tell(session, "asleep", "");
	session_record_end(session);
	LIST_REMOVE(session, entry);
	session->table->count--;
	if (session->table->settings.ended != NULL)
		session->table->settings.ended(session->table->settings.user, session);
	for (size_t i = 0; i < TIMER_COUNT; i++)
		uv_close((uv_handle_t *)&session->timers[i], handle_closed);
}

const char *session_id(const struct session *session)
{
	return session->id;
}

void session_rename(struct session *session, const char *name)
{
	free(session->name);
	session->name = xtext(name);
	/* A session that waits for its sandbox has no record until it has one. */
	if (session->former == NULL && session->state != SESSION_STARTING)
		session_record(session);
}

/* Checkpoints with a name stay for as long as the session lives, so they are not removed along with
 * the others. */
static int check_names(const struct session *session, struct err *err)
{
	const struct store_state *state = NULL;
	char names[NAMES_MAX * (NAME_SHOWN_MAX + 2)] = "";
	size_t size = 0;
	uint32_t count = 0;

	if (session->disk.stored == NULL)
		return 0;
	TAILQ_FOREACH(state, &session->disk.stored->states, entry) {
		if (state->name == NULL || session_has_checkpoint(session, state->id))
			continue;
		if (count < NAMES_MAX)
			size += (size_t)snprintf(names + size, sizeof(names) - size, "%s%.*s",
						 count > 0 ? ", " : "", NAME_SHOWN_MAX,
						 state->name);
		count++;
	}
	if (count == 0)
		return 0;
	return err_field(err, ERR_CONFLICT, EBUSY, "keep",
			 "checkpoints with a name are only on disk and would be lost: %s%s; drop "
			 "them first, or go back to the one that is wanted",
			 names, count > NAMES_MAX ? ", ..." : "");
}

int session_set_kept(struct session *session, bool is_kept, struct err *err)
{
	if (session->state == SESSION_ASLEEP && !is_kept)
		return err_field(
			err, ERR_CONFLICT, EBUSY, "keep",
			"the session is asleep and would be lost; wake it first, or delete it");
	if (session_is_kept(session) == is_kept)
		return 0;
	if (session->disk.reload != NULL && !is_kept)
		return err_field(err, ERR_CONFLICT, EBUSY, "keep",
				 "the session is being read from disk and would be lost if that "
				 "failed; try again when it is idle");
	if (!is_kept && check_names(session, err) < 0)
		return -err->num;
	if (is_kept && sessions_check_room(session->table, err) < 0)
		return -err->num;
	session->disk.keep = !is_kept ? KEEP_OFF : session->runs > 0 ? KEEP_DUE : KEEP_DONE;
	session->disk.written = session->disk.tried = 0;
	if (!is_kept) {
		session_stop_keeping(session);
		session_remove_stored(session);
	}
	if (session->former == NULL && session->state != SESSION_STARTING)
		session_record(session);
	session_kick(session);
	return 0;
}

bool session_is_kept(const struct session *session)
{
	return session->disk.keep != KEEP_OFF;
}

bool session_is_counted(const struct session *session)
{
	return session->is_counted;
}

const char *session_name(const struct session *session)
{
	return session->name;
}

const char *session_token(const struct session *session)
{
	return session->token;
}

uint64_t session_created_ms(const struct session *session)
{
	return session->life.created_ms;
}

const struct policy *session_policy(const struct session *session)
{
	return session->policy;
}

const struct box_kind *session_kind(const struct session *session)
{
	return &session->kind;
}

const struct backend *session_pin(const struct session *session)
{
	return session->pin;
}

enum session_state session_state(const struct session *session)
{
	return session->state;
}

uint64_t session_memory(const struct session *session)
{
	return session->memory;
}
