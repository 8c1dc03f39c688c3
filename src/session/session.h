// SPDX-License-Identifier: Apache-2.0
/*
 * Session - what a client holds to keep state between runs
 *
 * Owns:    one sandbox at a time and its heads: the one that runs, and the checkpoints it can go
 *          back to; the order of runs; idle and total lifetime; and the record in the journal,
 *          written after every change, from which the next daemon restores the session.
 * May not: lose variables silently: whatever ends a head, the session goes on from the last
 *          checkpoint, and the run's result says so; changes that cannot be undone are reported as
 *          `lost`.
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
	SESSION_ASLEEP, /* no sandbox; its states are on disk, and the next run wakes it */
	SESSION_LOST,   /* no state is left to go back to; the session still answers, and says so */
	SESSION_CLOSED,
};

/* Settings and parts that all sessions share. */
struct sessions_settings {
	uv_loop_t *loop;
	const struct config *config;    /* borrowed, like every pointer here */
	struct journal *const *journal; /* *journal is NULL until the journal is open */
	uint32_t idle_ms, ttl_ms;       /* defaults, for requests that give none */
	uint32_t freeze_ms;             /* a session that is idle for so long is frozen */
	uint32_t checkpoints_max;       /* how many unnamed checkpoints are kept */

	/* A session or a branch has begun, or has ended. */
	void (*begun)(void *user, const struct session *session);
	void (*ended)(void *user, const struct session *session);

	/* A session has gone to sleep and no longer counts; a session is about to wake, unless
	 * `woke` refuses. Both may be NULL. */
	void (*slept)(void *user, const struct session *session);
	int (*woke)(void *user, const struct session *session, struct err *err);

	/* The state, head or run that clients see of the session has changed. May be NULL. */
	void (*changed)(void *user, const struct session *session);
	void *user;
};

struct sessions *sessions_new(const struct sessions_settings *settings, struct logs *logs);
void sessions_free(struct sessions *sessions);

/* The pool to take sandboxes from; NULL while its backend is being restarted. */
void sessions_set_pool(struct sessions *sessions, struct pool *pool);

/* Sets the store, and restores the sessions that sleep in it. To be called after
 * sessions_replayed. */
void sessions_open_store(struct sessions *sessions, struct store *store);

/* ERR_BUSY with ENOSPC: there is no room on disk for the states of another session. */
int sessions_check_room(const struct sessions *sessions, struct err *err);

/* The daemon stops soon: from now on states are written to disk without a pause.
 * sessions_are_keeping: is a state still to be written? */
void sessions_stop(struct sessions *sessions);
bool sessions_are_keeping(struct sessions *sessions);

/* The process ends: closes every session, and leaves their states on disk. */
void sessions_leave(struct sessions *sessions);

struct session *sessions_find(struct sessions *sessions, const char *id);
void sessions_each(struct sessions *sessions, void (*each)(void *user, struct session *session),
		   void *user);
uint32_t sessions_count(const struct sessions *sessions);

/* ---- after a restart ---- */

/* sessions_replay takes one record of the journal; after the last one, sessions_replayed restores
 * the sessions. */
void sessions_replay(struct sessions *sessions, const struct journal_record *record,
		     struct journal_place place);
void sessions_replayed(struct sessions *sessions);

/* Take the sandboxes, then the heads, that the backend has kept. After sessions_attached, a session
 * without a sandbox is lost, runs that were under way go on (as `resume` says), and runs that had
 * not begun end with the verdict `backend`. */
bool sessions_kept(struct sessions *sessions, struct sandbox *sandbox, const char *name);
bool sessions_kept_head(struct sessions *sessions, struct sandbox *sandbox, uint32_t number,
			int32_t pid, int *take_fds, size_t fd_count);
struct sessions_resume {
	const struct run_calls *calls;
	void *(*user_of)(void *user, struct log *log); /* the `user` of the run's calls */
	void (*resumed)(void *run_user, struct run *run);
	void *user;
};
void sessions_attached(struct sessions *sessions, const struct sessions_resume *resume);

/* The oldest segment of the journal that holds a session's last record; UINT32_MAX: none. */
uint32_t sessions_floor(const struct sessions *sessions);

/* Writes every record again (a new segment has begun). */
void sessions_rewrite(struct sessions *sessions);

/* ---- one session ---- */

struct session_ask {
	const char *name, *token; /* "": none */
	const struct policy *policy;
	struct box_kind kind;
	const struct backend *pin; /* a static row: the only one allowed; NULL: the best */
	uint32_t idle_ms, ttl_ms;  /* 0: default */
	bool is_transactional;
	bool is_kept; /* states are written to disk, and the session sleeps instead of ending */
};

/* Makes a session. `done` follows from the loop, with `why` NULL, or with the reason of the failure
 * (then the session is freed). */
int session_create(struct sessions *sessions, const struct session_ask *ask,
		   void (*done)(void *user, struct session *session, const struct err *why),
		   void *user, struct session **ret_session, struct err *err);

/* Ends the session: cancels its run, and removes its sandbox and its states on disk. */
void session_close(struct session *session);

/* Gives the session another name, at most SESSION_NAME_MAX bytes. */
void session_rename(struct session *session, const char *name);

const char *session_id(const struct session *session);
const char *session_name(const struct session *session); /* "": none */
const char *session_token(const struct session *session);
uint64_t session_created_ms(const struct session *session);

/* The i-th session that a branch descends from, the oldest first: the branch continues the runs of
 * `ret_session` up to and including `ret_run`. False: there are no more. */
#define SESSION_ORIGINS_MAX 32U
bool session_origin(const struct session *session, uint32_t i, const char **ret_session,
		    const char **ret_run);
const struct policy *session_policy(const struct session *session);
const struct box_kind *session_kind(const struct session *session);
const struct backend *session_pin(const struct session *session); /* NULL: none */
enum session_state session_state(const struct session *session);
uint64_t session_memory(const struct session *session); /* bytes, at the end of its last run */

/* Turns writing states to disk on or off; off removes the states that are there. ERR_BUSY with
 * ENOSPC: the disk has no room for them. ERR_CONFLICT: without its states on disk, the session or
 * one of its checkpoints with a name would be lost. */
int session_set_kept(struct session *session, bool is_kept, struct err *err);
bool session_is_kept(const struct session *session);
bool session_is_counted(const struct session *session); /* false while the session is asleep */

/* Append the session, or the list of its checkpoints, as native JSON. */
int session_put(const struct session *session, struct buf *buf);
int session_put_checkpoints(const struct session *session, struct buf *buf);

/* Appends the state that the session was woken from: a member with its leading comma, or
 * nothing. */
void session_put_woken(const struct session *session, struct buf *buf);

/* Fails if the session accepts no requests: it is lost, or its queue is full. */
int session_check_open(const struct session *session, struct err *err);

/* Queues a run. The session fills in the members of `request` that only it knows. */
int session_run(struct session *session, const struct run_request *request,
		const struct run_calls *calls, void *user, struct run **ret_run, struct err *err);

/* The held run with this id; for an `id` of NULL the first held run, if no run is under way. NULL:
 * there is none. */
struct run *session_held_run(const struct session *session, const char *id);

/* Raises KeyboardInterrupt in the run under way (`run` is NULL or its id; ERR_CONFLICT if that run
 * is over). A run that goes on after the grace period loses its head. `done` follows when the run
 * is over. */
int session_interrupt(struct session *session, const char *run, uint32_t grace_ms,
		      void (*done)(void *user, const struct err *why), void *user, struct err *err);

/* The id of the state that `word` is the id or the name of; `word` itself if there is none.
 * Borrowed until a state is dropped. */
const char *session_checkpoint_id(const struct session *session, const char *word);

/* Both requests are queued in order with runs. `done` follows, with `why` NULL on success. */
int session_checkpoint(struct session *session, const char *name,
		       void (*done)(void *user, const char *checkpoint, const struct err *why),
		       void *user, struct err *err);
int session_rollback(struct session *session, const char *checkpoint,
		     void (*done)(void *user, const char *checkpoint, const struct err *why),
		     void *user, struct err *err);

/* Wakes the session in the stored state that it was in last. Does nothing if the session is
 * awake. */
int session_wake_up(struct session *session,
		    void (*done)(void *user, const char *checkpoint, const struct err *why),
		    void *user, struct err *err);

/* Starts a new interpreter that has the files but no variables, under another policy and kind if
 * `change` is not NULL (it is copied). The session accepts no requests until that is done. If not
 * all files fit, or anything else fails, the session stays as it was. */
struct session_change {
	const struct policy *policy;
	struct box_kind kind;
	const struct backend *pin; /* as in struct session_ask */
};
int session_restart(struct session *session, const struct session_change *change,
		    void (*done)(void *user, const char *checkpoint, const struct err *why),
		    void *user, struct err *err);
int session_drop_checkpoint(struct session *session, const char *checkpoint, struct err *err);

/* Makes a branch: a new session that shares sandbox, limits and /workspace with this one. The
 * branch continues from a checkpoint, or (NULL) from the session as it is now. It is refused if the
 * sandbox has no room for `count` branches: this one, and those that the caller makes next. */
int session_fork(struct session *session, const char *checkpoint, uint32_t count,
		 void (*done)(void *user, struct session *branch, const struct err *why),
		 void *user, struct err *err);

/* Appends one checkpoint as native JSON; false if there is none with this id. */
bool session_put_checkpoint(const struct session *session, const char *checkpoint, struct buf *buf);

/* ---- looks: questions answered by a throw-away fork ---- */

struct look;

struct look_ask {
	const char *json;       /* {"kind":...} as in docs/protocol.md */
	struct run_bytes bytes; /* a file to write */
	/* The checkpoint to look at; NULL: the head, or the last checkpoint during a run. */
	const char *checkpoint;
	const char *field; /* of the request, that names it; NULL: checkpoint */

	/* No fork: a look that changes the session works in the head, in order with runs. */
	bool is_in_head;
	uint32_t timeout_ms; /* 0: default */
};

/* The state that answers a look. */
struct look_state {
	char id[ID_SIZE];  /* of the checkpoint; "": the session as it is now */
	char blocker[256]; /* why it is not the state that the present run began from; "": it is */
};

struct look_calls {
	/* The JSON of the answer; for a file it also comes once before the bytes. */
	void (*answer)(void *user, const char *json, size_t size);

	/* A piece of a file. Returns false to get no more. */
	bool (*file)(void *user, const void *bytes, size_t size, bool is_last);

	/* The last call; `why` is NULL on success. */
	void (*done)(void *user, const struct look_state *state, const struct err *why);
};

int session_look(struct session *session, const struct look_ask *ask,
		 const struct look_calls *calls, void *user, struct look **ret_look,
		 struct err *err);

/* Cancels the look; no call comes after this. */
void look_cancel(struct look *look);

/* Pauses or resumes the bytes of the look's files. Not for a look in the head. */
void look_hold(struct look *look, bool is_held);

/* The checkpoint that is looked at, known from the first call on; "": the session as it is now. */
const char *look_as_of(const struct look *look);

/* Notes that files below /workspace were changed from outside a run. */
void session_touch_files(struct session *session);
