// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/choose.h"
#include "base/c.h"
#include "base/log.h"
#include "session/session_state.h"

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

/* What happens to the session itself has a log, too: warnings, freezing, rollbacks. */
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
	free(session->woken);
	free(session->origins);
	buf_done(&session->back);
	free((char *)(uintptr_t)session->kind.trust);
	free((char *)(uintptr_t)session->kind.data);
	free(session);
}

void session_copy_ask(struct session *session, const struct session_ask *ask)
{
	const struct sessions_settings *set = &session->table->settings;

	session->name = xtext(ask->name);
	session->token = xtext(ask->token);
	session->policy = ask->policy;
	session->pin = ask->pin;
	session->kind = ask->kind;
	session->kind.trust = xtext(ask->kind.trust);
	session->kind.data = xstrdup(ask->kind.data);
	session->idle_ms = ask->idle_ms > 0 ? ask->idle_ms : set->idle_ms;
	session->ttl_ms = ask->ttl_ms > 0 ? ask->ttl_ms : set->ttl_ms;
	session->is_transactional = ask->is_transactional;
	session->is_kept = ask->is_kept;
	session->is_counted = true;
	if (set->begun != NULL)
		set->begun(set->user, session); /* it has a token now */
}

struct session *session_new(struct sessions *sessions, const char *id)
{
	struct session *session = xnew(struct session);
	uv_timer_t *const timers[] = {&session->timer, &session->kick, &session->guard,
				      &session->late, &session->again};

	if (id != NULL)
		(void)snprintf(session->id, sizeof(session->id), "%s", id);
	else
		id_new("ses_", session->id);
	(void)snprintf(session->home, sizeof(session->home), "%s", session->id);
	session->table = sessions;
	session->pool = sessions->pool;
	session->created_ms = session->used_ms = wall_ms();
	session->created_ns = session->used_ns = now_ns();
	session->files_version = session->files_changes = 1;
	buf_init(&session->back, RUN_LEFT_MAX);
	TAILQ_INIT(&session->checkpoints);
	TAILQ_INIT(&session->jobs);
	LIST_INIT(&session->looks);
	for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
		(void)uv_timer_init(sessions->settings.loop, timers[i]);
		timers[i]->data = session;
		session->handles++;
	}
	LIST_INSERT_HEAD(&sessions->buckets[session_bucket(session->id)], session, entry);
	sessions->count++;
	return session;
}

static void tell_created(struct session *session, const struct err *why)
{
	if (session->created != NULL)
		STEAL(session->created)(session->create_user, session, why);
}

static void sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct session *session = user;
	struct err err = {0};

	session->ticket = NULL;
	if (sandbox == NULL && session->reload != NULL) {
		session_reload_failed(session, why);
		return;
	}
	if (sandbox == NULL) {
		session->why = *why;
		tell_created(session, &session->why);
		session_close(session);
		return;
	}
	session->sandbox = sandbox;
	session->sandbox_id = sandbox->id;
	sandbox->sessions = 1;
	sandbox_take(sandbox, NULL, NULL);
	session->head = head_first(sandbox, &session_head_calls, session);
	session->state = SESSION_IDLE;
	if (sandbox_keep(sandbox, session->home, &err) < 0 || sandbox_meter(sandbox, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id,
			  err.text);
	/* It may wake in a box of another backend than it slept in. */
	if (sandbox->box->impl->fork_head == NULL)
		session->is_transactional = false;
	if (session->reload != NULL) {
		session_reload_on(session);
		return;
	}
	if (session->is_transactional) {
		id_new("cp_", session->next);
		session->needs_checkpoint = true;
	}
	log_event(LOG_LEVEL_INFO, "session.start", "session=%s policy=%s runtime=%s", session->id,
		  session->policy->name, session->kind.runtime->name);
	session_record(session);
	session_open_log(session);
	session_tell(session, "created", "");
	session_kick(session);
	tell_created(session, NULL);
}

int session_choose(const struct session *session, const struct session_change *change,
		   const struct backend **ret_backend, struct err *err)
{
	const struct backend_host host = pool_host(session->table->pool);
	const struct backend *pin = change != NULL ? change->pin : session->pin;
	const struct policy *policy = change != NULL ? change->policy : session->policy;

	return backend_choose(&host, BACKEND_SESSION, pin != NULL ? pin->name : policy->backend,
			      false, ret_backend, err);
}

int session_take_sandbox(struct session *session, struct err *err)
{
	return pool_take(session->table->pool, &session->kind, sandbox_taken, session,
			 &session->ticket, err);
}

int session_create(struct sessions *sessions, const struct session_ask *ask,
		   void (*done)(void *user, struct session *session, const struct err *why),
		   void *user, struct session **ret_session, struct err *err)
{
	struct session *session = NULL;
	int r;

	if (sessions->pool == NULL)
		return err_set(err, ERR_BUSY, EAGAIN, "viv-launch is being started again");
	session = session_new(sessions, NULL);
	session_copy_ask(session, ask);
	session->created = done;
	session->create_user = user;
	*ret_session = session;
	r = session_take_sandbox(session, err);
	if (r < 0) {
		session->created = NULL;
		session_close(session);
	}
	return r;
}

/* Sandbox and heads go; whoever waits for the session goes on waiting. */
void session_let_sandbox_go(struct session *session)
{
	struct sandbox *sandbox = STEAL(session->sandbox);

	session_drop_branch(session);
	if (session->ticket != NULL)
		pool_untake(session->pool, STEAL(session->ticket));
	head_free(STEAL(session->dead));
	head_free(STEAL(session->coming));
	head_free(STEAL(session->head));
	while (!TAILQ_EMPTY(&session->checkpoints))
		session_free_checkpoint(session, TAILQ_FIRST(&session->checkpoints));
	session_free_pipes(session);
	if (sandbox != NULL && sandbox->taker == session)
		sandbox->frozen = NULL;
	if (sandbox != NULL && --sandbox->sessions == 0)
		sandbox_end(sandbox);
	session->needs_checkpoint = false;
}

/* Lets go of sandbox, heads and whoever waits. */
void session_let_go(struct session *session, const struct err *why)
{
	struct sandbox *sandbox = session->sandbox;

	session_drop_branch(session);
	/* Its verdict needs the session as it is. */
	if (session->run != NULL && sandbox != NULL)
		run_abandon(session->run,
			    session->state == SESSION_CLOSED || session->state == SESSION_ASLEEP,
			    why);
	session->sandbox = NULL;
	head_free(STEAL(session->dead));
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
	session->state = SESSION_LOST;
	session->why = *why;
	log_event(LOG_LEVEL_WARNING, "session.lost", "session=%s why=%s", session->id, why->text);
	session_tell_dead(session);
	session_let_go(session, why);
	tell_created(session, why);
	if (session_can_sleep(session)) {
		session_lie_down(session, why);
		return;
	}
	session_tell(session, "lost", "");
	session_record(session);
	session_rest(session); /* it is still there to be asked, and goes when its time is over */
}

void session_close(struct session *session)
{
	uv_timer_t *const timers[] = {&session->timer, &session->kick, &session->guard,
				      &session->late, &session->again};
	bool was_asleep = session->state == SESSION_ASLEEP;
	bool sleeps;
	struct err why = {0};

	if (session->is_ended)
		return;
	session->is_ended = true;
	(void)err_set(&why, ERR_CONFLICT, ESHUTDOWN, "the session was closed");
	session->state = SESSION_CLOSED;
	session->why = why;
	session_let_go(session, &why);
	sleeps = session->table->is_leaving && session->stored != NULL &&
		 stored_last(session->stored) != NULL;
	/* Before the journal says that it ended: whoever is killed here leaves no bytes behind. */
	if (session->stored != NULL && !sleeps)
		stored_remove(session->stored);
	session->stored = NULL;
	tell_created(session, &why);
	/* Its log goes on with the next daemon, which finds it asleep. */
	if (!sleeps)
		session_tell(session, "ended", "");
	else if (!was_asleep)
		session_tell(session, "asleep", "");
	session_record_end(session);
	LIST_REMOVE(session, entry);
	session->table->count--;
	if (session->table->settings.ended != NULL)
		session->table->settings.ended(session->table->settings.user, session);
	for (size_t i = 0; i < ARRAY_LEN(timers); i++)
		uv_close((uv_handle_t *)timers[i], handle_closed);
}

const char *session_id(const struct session *session)
{
	return session->id;
}

void session_rename(struct session *session, const char *name)
{
	free(session->name);
	session->name = xtext(name);
	/* One that waits for its sandbox is written down when it has it. */
	if (!session->is_restored && session->state != SESSION_STARTING)
		session_record(session);
}

int session_set_kept(struct session *session, bool is_kept, struct err *err)
{
	if (session->state == SESSION_ASLEEP && !is_kept)
		return err_set(err, ERR_CONFLICT, EBUSY,
			       "keep: it sleeps, and would be gone; wake it first, or delete it");
	if (session->is_kept == is_kept)
		return 0;
	session->is_kept = is_kept;
	session->needs_keeping = is_kept && session->runs > 0;
	if (!is_kept && session->stored != NULL && session->keeping == NULL &&
	    session->reload == NULL) {
		stored_remove(session->stored);
		session->stored = NULL;
	}
	if (!session->is_restored && session->state != SESSION_STARTING)
		session_record(session);
	session_kick(session);
	return 0;
}

bool session_is_kept(const struct session *session)
{
	return session->is_kept;
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
	return session->created_ms;
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

bool session_is_transactional(const struct session *session)
{
	return session->is_transactional;
}

uint64_t session_memory(const struct session *session)
{
	return session->memory;
}

struct run *session_run_now(const struct session *session)
{
	return session->run;
}
