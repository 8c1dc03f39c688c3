// SPDX-License-Identifier: Apache-2.0
/*
 * Session - what a client holds to keep state between runs
 *
 * Owns:    one sandbox at a time and its heads: the one that runs, and the checkpoints it can go
 *          back to; the order of runs; idle and total lifetime; and what of this a successor of
 * this process needs (a record in the journal after every change). May not: lose variables
 * silently: whatever ends a head, the session goes on from the last checkpoint, and the run's
 * result says so; what cannot be undone is told as `lost`.
 *
 * Transactional runs: between runs the head forks. The parent parks as the checkpoint, the child is
 * the new head. A run that fails costs the child, and the parent forks another.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "policy/config.h"
#include "session/log.h"
#include "session/pool.h"
#include "session/run.h"

#define SESSION_NAME_MAX 200

struct session;
struct sessions;
struct store;

enum session_state {
	SESSION_STARTING, /* waits for its sandbox */
	SESSION_IDLE,
	SESSION_RUNNING,
	SESSION_FORKING, /* the head becomes a checkpoint, its child the head */
	SESSION_ROLLING, /* a checkpoint forks a new head */
	SESSION_FREEZING,
	SESSION_FROZEN,
	SESSION_THAWING,
	SESSION_ASLEEP, /* no sandbox: its states are on disk, and one can be woken */
	SESSION_LOST,   /* nothing is left to go back to; answers, and says so */
	SESSION_CLOSED,
};

/* What every session works with. */
struct sessions_settings {
	uv_loop_t *loop;
	const struct config *config;    /* borrowed, as all here */
	struct journal *const *journal; /* where it will be, once it is open */
	uint32_t idle_ms, ttl_ms;       /* when a request says nothing */
	uint32_t freeze_ms;             /* of idleness, then it is frozen */
	uint32_t checkpoints_max;       /* unnamed ones that are kept */

	/* A session is there, a branch too; and is there no more. */
	void (*begun)(void *user, const struct session *session);
	void (*ended)(void *user, const struct session *session);

	/* It sleeps and counts no more; it is to wake: is there room? May be NULL. */
	void (*slept)(void *user, const struct session *session);
	int (*woke)(void *user, const struct session *session, struct err *err);

	/* It shows another state, or another run. May be NULL. */
	void (*changed)(void *user, const struct session *session);
	void *user;
};

struct sessions *sessions_new(const struct sessions_settings *settings, struct logs *logs);
void sessions_free(struct sessions *sessions);

/* The pool to take sandboxes from; NULL while viv-launch is being started again. */
void sessions_set_pool(struct sessions *sessions, struct pool *pool);

/* Where states are kept; with it the sessions that sleep there. After sessions_replayed. */
void sessions_open_store(struct sessions *sessions, struct store *store);

/* The end is near: what is not on disk yet is written now. Is there anything left to write? */
void sessions_stop(struct sessions *sessions);
bool sessions_are_keeping(struct sessions *sessions);

/* The process ends: every session is closed, and what is kept of it stays. */
void sessions_leave(struct sessions *sessions);

struct session *sessions_find(struct sessions *sessions, const char *id);
void sessions_each(struct sessions *sessions, void (*each)(void *user, struct session *session),
		   void *user);
uint32_t sessions_count(const struct sessions *sessions);

/* ---- after a restart ---- */

/* A record of the journal; and, behind the last of them: sessions are made again. */
void sessions_replay(struct sessions *sessions, const struct journal_record *record,
		     struct journal_place place);
void sessions_replayed(struct sessions *sessions);

/* What launch had kept, in this order; then sessions_attached: whoever got no sandbox is lost, runs
 * that were on go on (as `resume` says), runs that had not begun end as `backend`. */
bool sessions_kept(struct sessions *sessions, struct sandbox *sandbox, const char *name);
bool sessions_kept_head(struct sessions *sessions, struct sandbox *sandbox, uint32_t number,
			int32_t pid, int *take_fds, size_t fd_count);
struct sessions_resume {
	const struct run_calls *calls;
	void *(*user_of)(void *user, struct log *log); /* the user of its calls */
	void (*resumed)(void *run_user, struct run *run);
	void *user;
};
void sessions_attached(struct sessions *sessions, const struct sessions_resume *resume);

/* The oldest segment of the journal that a session's record is in; UINT32_MAX: none. */
uint32_t sessions_floor(const struct sessions *sessions);

/* Writes every record again (a new segment has begun). */
void sessions_rewrite(struct sessions *sessions);

/* ---- one session ---- */

struct session_ask {
	const char *name, *token; /* "": none */
	const struct policy *policy;
	struct box_kind kind;
	const struct backend *pin; /* a static row: that one or none; NULL: the best there is */
	uint32_t idle_ms, ttl_ms;  /* 0: default */
	bool is_transactional;
	bool is_kept; /* its states are written to disk, and it sleeps instead of ending */
};

/* Makes one. `done` follows from the loop: it is there (NULL), or why not (then it is gone). */
int session_create(struct sessions *sessions, const struct session_ask *ask,
		   void (*done)(void *user, struct session *session, const struct err *why),
		   void *user, struct session **ret_session, struct err *err);

/* Ends it: its run is cancelled, its sandbox goes, and what is kept of it. */
void session_close(struct session *session);

/* Gives it another name for people, at most SESSION_NAME_MAX bytes. */
void session_rename(struct session *session, const char *name);

const char *session_id(const struct session *session);
const char *session_name(const struct session *session); /* "": none */
const char *session_token(const struct session *session);
uint64_t session_created_ms(const struct session *session);

/* A branch goes on from what ran elsewhere: in `ret_session`, up to and with `ret_run`. False:
 * there are no more. */
#define SESSION_ORIGINS_MAX 32U
bool session_origin(const struct session *session, uint32_t i, const char **ret_session,
		    const char **ret_run);
const struct policy *session_policy(const struct session *session);
const struct box_kind *session_kind(const struct session *session);
const struct backend *session_pin(const struct session *session); /* NULL: none */
enum session_state session_state(const struct session *session);
bool session_is_transactional(const struct session *session);
uint64_t session_memory(const struct session *session); /* bytes, at the end of its last run */

/* Its states are written to disk from now on; or no longer, and those that are there go. */
int session_set_kept(struct session *session, bool is_kept, struct err *err);
bool session_is_kept(const struct session *session);
bool session_is_counted(const struct session *session); /* false: it sleeps */

/* Appends the session as native JSON; the list of its checkpoints. */
int session_put(const struct session *session, struct buf *buf);
int session_put_checkpoints(const struct session *session, struct buf *buf);

/* Its run that is on, or NULL. */
struct run *session_run_now(const struct session *session);

/* Can it be asked for anything? Not when it is lost, or too much waits in it already. */
int session_check_open(const struct session *session, struct err *err);

/* Queues a run behind those that wait. `request` is complete but for what only the session knows.
 */
int session_run(struct session *session, const struct run_request *request,
		const struct run_calls *calls, void *user, struct run **ret_run, struct err *err);

/* Of its runs the one of this id, if it is held; with NULL the first that is, where none is on. */
struct run *session_held_run(const struct session *session, const char *id);

/* KeyboardInterrupt in the run that is on (`run` NULL or its id; ERR_CONFLICT when it is over). Not
 * over after the grace: its head is ended. `done` follows when the run is over. */
int session_interrupt(struct session *session, const char *run, uint32_t grace_ms,
		      void (*done)(void *user, const struct err *why), void *user, struct err *err);

/* Each is queued in order with runs; `done` follows: NULL, or why not. */
int session_checkpoint(struct session *session, const char *name,
		       void (*done)(void *user, const char *checkpoint, const struct err *why),
		       void *user, struct err *err);
int session_rollback(struct session *session, const char *checkpoint,
		     void (*done)(void *user, const char *checkpoint, const struct err *why),
		     void *user, struct err *err);

/* From the state on disk that it was in last; one that is awake is left alone. */
int session_wake_up(struct session *session,
		    void (*done)(void *user, const char *checkpoint, const struct err *why),
		    void *user, struct err *err);

/* A new interpreter with the files as they are, and without variables; of another policy and kind
 * where `change` is not NULL (copied). Until that is done it takes nothing new; where not all files
 * come along, or anything else fails, it stays what it was. */
struct session_change {
	const struct policy *policy;
	struct box_kind kind;
	const struct backend *pin; /* as in struct session_ask */
};
int session_restart(struct session *session, const struct session_change *change,
		    void (*done)(void *user, const char *checkpoint, const struct err *why),
		    void *user, struct err *err);
int session_drop_checkpoint(struct session *session, const char *checkpoint, struct err *err);

/* A branch: a session of its own that shares sandbox, limits and /workspace. It goes on from a
 * checkpoint, or (NULL) from the session as it is. */
int session_fork(struct session *session, const char *checkpoint,
		 void (*done)(void *user, struct session *branch, const struct err *why),
		 void *user, struct err *err);

/* Appends one checkpoint as native JSON; false when there is none of this id. */
bool session_put_checkpoint(const struct session *session, const char *checkpoint, struct buf *buf);

/* ---- looks: questions answered by a throw-away fork ---- */

struct look;

struct look_ask {
	const char *json;       /* {"kind":...} as in docs/protocol.md */
	struct run_bytes bytes; /* what goes with it: a file to write */
	const char
		*checkpoint; /* look at this one; NULL: the head, or while it runs the last one */
	bool is_in_head; /* no fork: what changes the session works on the head, in order with runs
			  */
	uint32_t timeout_ms; /* 0: default */
};

struct look_calls {
	/* The answer's JSON; for a file also once before its bytes. */
	void (*answer)(void *user, const char *json, size_t size);

	/* A piece of a file. False: enough. */
	bool (*file)(void *user, const void *bytes, size_t size, bool is_last);

	/* The last call: NULL, or how it failed. `as_of` is the checkpoint that was looked at, ""
	 * for the session as it is now. */
	void (*done)(void *user, const char *as_of, const struct err *why);
};

int session_look(struct session *session, const struct look_ask *ask,
		 const struct look_calls *calls, void *user, struct look **ret_look,
		 struct err *err);

/* No call comes after this. */
void look_cancel(struct look *look);

/* Its files come no further until it is let go. Not for one that is asked of the head. */
void look_hold(struct look *look, bool is_held);

/* The checkpoint that it looks at, from its first call on; "" for the session as it is. */
const char *look_as_of(const struct look *look);

/* Files below /workspace were changed from outside a run. */
void session_touch_files(struct session *session);
