// SPDX-License-Identifier: Apache-2.0
/*
 * Session state - the inside of sessions, for session*.c and look.c alone
 *
 * Owns:    nothing of its own. Each subject has one file:
 *   session.c         the table of sessions, and how one begins and ends
 *   session_jobs.c    the queue: runs and requests, one at a time, in order
 *   session_heads.c   forks: checkpoints, rollbacks, branches
 *   session_states.c  the list of checkpoints, their names and parents
 *   session_life.c    lifetimes, freezing, and processes that runs leave behind
 *   session_keep.c    writing states to disk
 *   session_sleep.c   sessions without a sandbox, and filling a new sandbox from disk
 *   session_record.c  the record in the journal, and how the next daemon restores it
 *   session_told.c    what clients read of a session, and results of its checkpoints
 *   look.c            questions that a throw-away fork answers
 */
#pragma once

#include "session/head.h"
#include "session/sandbox.h"
#include "session/session.h"
#include "session/store.h"
#include "session/stream.h"

#define SESSION_BUCKETS 512U
#define SESSION_BLOCKER_MAX 256
#define SESSION_SINCE_MAX 32U

/* ---- states ---- */

/* Whether a state has the files of /workspace. */
enum checkpoint_files {
	FILES_NONE,    /* /workspace was empty */
	FILES_SAVED,   /* the backend has copies */
	FILES_SKIPPED, /* too large, or shared with a branch: going back leaves files as they are */
};

/* The process of a head, as the previous daemon knew it. Head numbers are reused; the pid tells
 * whether it is the same process. */
struct former_head {
	uint32_t number;
	pid_t pid;
};

struct checkpoint {
	char id[ID_SIZE], parent[ID_SIZE], run[ID_SIZE];
	uint32_t not_kept;      /* how many states between the parent and this one are gone */
	char *name;             /* owned; NULL: unnamed, and dropped when there are too many */
	char name_was[ID_SIZE]; /* id of the state that had this name before; "": none */
	uint64_t created_ms;
	uint64_t memory; /* bytes the session used then */
	enum checkpoint_files files;
	uint64_t files_version; /* session->files.version then; 0: unknown, or shared */
	struct head *head;      /* owned: parked; NULL: not adopted yet, `former` says which */
	char *lacks;            /* owned: what could not be read from disk, JSON; NULL: nothing */
	bool is_keep_tried;     /* writing it to disk was tried, with or without success */
	struct former_head former; /* after a restart */
	TAILQ_ENTRY(checkpoint) entry;
};

/* A session that this one descends from: it was forked, directly or through other branches. */
struct origin {
	char session[ID_SIZE];
	char run[ID_SIZE]; /* the last run that had begun there by that time */
};

/* The states that a session can go back to, and where it stands among them. */
struct states {
	TAILQ_HEAD(checkpoint_list, checkpoint) live;
	char current[ID_SIZE]; /* the state that the head comes from; "": none */
	char next[ID_SIZE];    /* the checkpoint that is due or being made; "": none */

	/* The id of `current`, once that is neither live nor on disk; its nearest ancestor that
	 * still exists; and how many states between that ancestor and the head are gone. */
	struct {
		char id[ID_SIZE], parent[ID_SIZE];
		uint32_t not_kept;
	} gone;

	const struct checkpoint *suspect;  /* its last head failed; NULL: none */
	uint64_t went_back_ms;             /* when a client went back to `current`; 0: moved on */
	char last_run[ID_SIZE];            /* the last run that the head contains */
	char blocker[SESSION_BLOCKER_MAX]; /* why the head can have no checkpoint; "": it can */
	struct origin *origins;            /* owned; of a branch, the oldest first; NULL: none */
	uint32_t origin_count;
};

/* The runs that a rollback undoes, and how clients are told. */
struct way_back {
	char since[SESSION_SINCE_MAX][ID_SIZE]; /* runs that no checkpoint contains yet */
	uint32_t since_count;
	struct buf members; /* JSON members about the last rollback: undone runs, reason */
	uint32_t count;     /* how many runs it undid */
	char why[SESSION_BLOCKER_MAX]; /* why it went further back than one run; "": it did not */
	char stored[ID_SIZE];          /* the newest state on disk that it went past; "": none */
	bool is_due;                   /* the event `rolled_back` is still to be sent */
};

/* /workspace as it is now. */
struct files {
	enum checkpoint_files kind; /* of the head */
	bool is_dirty;              /* a file may have changed since the last checkpoint */
	/* A branch or a client changed files, and no checkpoint has these changes: a run that fails
	 * leaves the files as they are. */
	bool has_others;
	bool is_left; /* the last rollback did not bring the files back */
	/* 0: unknown, since a head died and may have changed files. With each branch that is made
	 * it changes as well: from then on, the branch may change files. */
	uint64_t version;
	uint64_t changes; /* how many versions were given so far; none is given twice */
};

/* ---- disk ---- */

/* Are states written to disk, so that the session can sleep instead of ending? */
enum keep {
	KEEP_OFF,
	KEEP_DONE, /* the current state is on disk, or could not be written */
	KEEP_DUE,
};

struct disk {
	enum keep keep;
	struct stored *stored;   /* borrowed from the store; NULL: nothing is on disk */
	struct keeping *keeping; /* owned: the state that is being written */
	struct reload *reload;   /* owned: the new sandbox that is being filled */
	uint64_t not_before_ns;  /* the next state is written no earlier than this */
	char state[ID_SIZE]; /* the stored state that the session is in, or was in last; "": none */
	/* files.version of the workspace on disk, and of one that could not be written; 0: none. */
	uint64_t written, tried;
	char why[SESSION_BLOCKER_MAX]; /* why the last state could not be written; "": it was */
	json_t *woken;           /* owned: what the first run after a wake reports; NULL: nothing */
	char woken_run[ID_SIZE]; /* the run that has reported it; "": none yet */
};

/* ---- life ---- */

/* How near the end of a session is. Each use sets it back to LIFE_GOES_ON. */
enum life_stage {
	LIFE_GOES_ON,
	LIFE_WARNED, /* an event has said that the session ends soon */
	LIFE_OVER,   /* the state is written to disk once more before the session ends */
};

/* Processes in a sandbox that are not heads. */
enum session_left {
	LEFT_UNKNOWN, /* code has run since the backend was last asked */
	LEFT_NONE,
	LEFT_SOME,
	LEFT_ENDED, /* these processes were ended; now heads that keep computing are looked for */
};

struct life {
	uint64_t created_ms, used_ms; /* since 1970, for people: that clock may jump */
	uint64_t created_ns, used_ns; /* monotonic, for lifetimes */
	uint32_t idle_ms, ttl_ms;
	enum life_stage stage;
	enum session_left left;
	bool is_put_off; /* the sandbox could not be swept, since a branch was running code */
	uint32_t freeze_tries;
};

/* ---- work ---- */

enum job_kind {
	JOB_RUN,
	JOB_CHECKPOINT,
	JOB_ROLLBACK,
	JOB_FORK,
	JOB_RELOAD, /* a new sandbox, filled from a state on disk */
};

/* An entry of the queue. */
struct job {
	enum job_kind kind;
	struct run *run; /* borrowed from the caller */
	bool is_retried; /* JOB_RUN: the blocked checkpoint was tried again before it */
	char checkpoint[ID_SIZE];
	uint32_t count;                /* JOB_FORK: branches to be made, this one included */
	bool has_variables;            /* JOB_RELOAD; false: only the files are read */
	struct session_change *change; /* owned, JOB_RELOAD: a new policy and kind; NULL: none */
	char *name;                    /* owned */
	void (*done)(void *user, const char *checkpoint, const struct err *why);
	void (*forked)(void *user, struct session *branch, const struct err *why);
	void *user; /* borrowed until one of these */
	TAILQ_ENTRY(job) entry;
};

/* The stdout and stderr of a branch, which has pipes of its own. */
struct branch_pipes {
	struct stream out, err;
	int handles;
	bool is_freed;
};

/* The head that died during its run. The run is told only when the session is back at a checkpoint,
 * so that the result can say which one. */
struct dead_head {
	struct head *head; /* owned; NULL: none */
	bool has_facts;
	struct box_exit facts;
	struct err why;
};

/* The sandbox as the previous daemon recorded it, until the backend has reported what it kept. */
struct former {
	uint32_t sandbox, walls;
	struct former_head head;
};

enum session_timer {
	TIMER_LIFE,  /* lifetimes, freezing */
	TIMER_KICK,  /* starts the next job of the queue */
	TIMER_GUARD, /* ends a fork or an interrupt that takes too long; retries a freeze */
	TIMER_LOOK,  /* ends the fork of a look that takes too long */
	TIMER_DISK,  /* continues writing or reading a state */
	TIMER_COUNT,
};

struct session {
	char id[ID_SIZE];
	char home[ID_SIZE]; /* its sandbox is kept under this name: the first session's id */
	char *name, *token; /* owned */
	struct sessions *table;
	const struct policy *policy;
	struct box_kind kind;      /* trust and data are owned copies */
	const struct backend *pin; /* a static row: the only backend allowed; NULL: the best */
	enum session_state state;
	struct err why;        /* for SESSION_LOST, SESSION_ASLEEP, SESSION_CLOSED */
	struct former *former; /* owned; NULL: not waiting for the backend after a restart */
	bool is_transactional;
	bool is_counted; /* among the sessions of its token; false while asleep */

	struct pool_ticket *ticket;
	struct sandbox *sandbox; /* shared with its branches */
	struct head *head, *coming;
	struct dead_head dead;
	struct session *branch;     /* borrowed: the branch that is being made */
	struct branch_pipes *pipes; /* owned; NULL: those of the sandbox */

	struct states states; /* session_states.c */
	struct way_back back; /* session_told.c */
	struct files files;   /* session_heads.c */
	struct disk disk;     /* session_keep.c, session_sleep.c */
	struct life life;     /* session_life.c */

	TAILQ_HEAD(job_list, job) jobs;
	struct job *now; /* owned: under way */
	struct run *run; /* borrowed: the run under way */
	LIST_HEAD(, look) looks;
	uint64_t turns; /* runs and rollbacks that have begun, and other work in the head itself */
	uint64_t runs, memory;

	struct {
		void (*call)(void *user, struct session *session, const struct err *why);
		void *user;
	} created;
	struct {
		void (*call)(void *user, const struct err *why);
		void *user;
	} interrupted;

	struct log *log;            /* borrowed: events of the session; NULL: none */
	struct journal_place place; /* of its last record */
	struct {                    /* what clients saw last */
		const char *state;  /* static */
		char run[ID_SIZE], head[ID_SIZE];
	} told;
	uv_timer_t timers[TIMER_COUNT];
	int handles;
	LIST_ENTRY(session) entry;
};

/* While the journal is read: where the last record of a session is. */
struct replayed {
	char id[ID_SIZE];
	struct journal_place place;
	LIST_ENTRY(replayed) entry;
};

struct sessions {
	struct sessions_settings settings;
	struct pool *pool;   /* borrowed; NULL: none at the moment */
	struct logs *logs;   /* borrowed */
	struct store *store; /* borrowed; NULL: nothing is kept on disk */
	bool is_stopping;    /* the daemon stops soon: states are written to disk without a pause */
	bool is_leaving;     /* the process ends: states on disk stay */
	uint32_t count;
	LIST_HEAD(, session) buckets[SESSION_BUCKETS];
	LIST_HEAD(, replayed) replayed[SESSION_BUCKETS];
};

/* ---- session.c ---- */

size_t session_bucket(const char *id);
struct session *session_new(struct sessions *sessions, const char *id,
			    const struct session_ask *ask);
void session_open_log(struct session *session);

/* Appends an event to the session's own log. */
void session_tell(struct session *session, const char *type, const char *members);

/* Puts the session into a sandbox just taken. */
void session_sit(struct session *session, struct sandbox *sandbox);

/* The session, or branch, has a head: records that, and answers the request for the session. */
void session_begin(struct session *session);

/* Frees sandbox, heads and checkpoints; session_let_go also fails everything that waits. */
void session_let_sandbox_go(struct session *session);
void session_let_go(struct session *session, const struct err *why);

void session_lose(struct session *session, const struct err *why);
void session_end(struct session *session, const char *why);

/* ---- session_jobs.c ---- */

extern const struct run_host session_run_host;

/* The first job of the queue; NULL: none, or the first is a held run, which keeps its place. */
struct job *session_next_job(const struct session *session);
void session_kick(struct session *session); /* starts the next job, from the loop */
void session_kick_in(struct session *session, uint64_t ms);
void session_finish_job(struct session *session, const char *checkpoint, const struct err *why);
void session_fail_jobs(struct session *session, const struct err *why);

/* ---- session_heads.c ---- */

extern const struct head_calls session_head_calls;
void session_make_checkpoint(struct session *session);
void session_roll_back(struct session *session, struct checkpoint *checkpoint);

/* Forks the new head of a rollback that had to wait. */
void session_roll_on(struct session *session);

/* Tells the run whose head died that it is over. */
void session_tell_dead(struct session *session);

bool session_shares_files(const struct session *session); /* with a branch, now */
void files_changed(struct files *files);

/* The session has changed /workspace: so it has for every session that shares it, and those that
 * are kept write it to disk again. */
void session_share_change(struct session *session);

void session_branch(struct session *session, const struct checkpoint *checkpoint);
void session_drop_branch(struct session *session);
void session_free_pipes(struct session *session);
void session_adopt_pipes(struct session *session, int take_fds[4]);

/* ---- session_states.c ---- */

struct checkpoint *states_find(const struct states *states, const char *id);
struct checkpoint *states_current(const struct states *states);

/* The checkpoint to go back to: the current one, or the newest that is left. NULL: none. */
struct checkpoint *states_last(const struct states *states);

/* Gives an id to the checkpoint that is due. session_want_checkpoint does so if the sandbox has
 * room for it; if not, that becomes the blocker. */
void states_want(struct states *states);
void session_want_checkpoint(struct session *session);
bool session_has_room(const struct session *session);

/* Drops the oldest checkpoints without a name until `count` branches of `from` (NULL: the head)
 * fit. -EMFILE: they would not fit even then, and nothing was dropped. */
int session_make_room(struct session *session, const struct checkpoint *from, uint32_t count,
		      struct err *err);
void states_add_origin(struct states *states, const char *session, const char *run);
bool session_checkpoint_is_due(const struct session *session);

/* Whether the checkpoint is live, or was announced and is being made. */
bool session_has_checkpoint(const struct session *session, const char *id);

/* Refuses the checkpoint that a request names, in its field `checkpoint` or in another one. */
int session_no_checkpoint(const struct session *session, const char *id, struct err *err);
int session_no_state(const struct session *session, const char *field, const char *id,
		     struct err *err);

/* Names are unique: another state that had this name loses it. */
void session_name_checkpoint(struct session *session, struct checkpoint *checkpoint,
			     char **take_name);
void session_free_checkpoint(struct session *session, struct checkpoint *checkpoint);
void session_trim_checkpoints(struct session *session, uint32_t keep);

/* The parent of a state made from the head now: the nearest ancestor that is still there, and how
 * many states in between are gone. */
void session_put_parent(const struct session *session, char ret_parent[ID_SIZE],
			uint32_t *ret_not_kept);

/* The newest state on disk that contains a run of `back.since`, which no checkpoint contains. NULL:
 * none. */
const struct store_state *session_stored_since(const struct session *session);

/* A state was dropped: if it is neither live nor on disk any more, its children get its parent. */
void session_state_gone(struct session *session, const char *id, const char *parent,
			uint32_t not_kept);
void session_have_stored(struct session *session, struct stored *stored);
void session_remove_stored(struct session *session);

/* ---- session_life.c ---- */

void session_rest(struct session *session);
void session_wake(struct session *session);
void session_thaw(struct session *session);

/* ---- session_keep.c ---- */

void session_keep(struct session *session); /* writes the next state, if one is due */
bool session_keep_is_due(const struct session *session);
bool session_keep_is_first(const struct session *session);                /* before the next job */
struct store_state *session_keeping_state(const struct session *session); /* NULL: none */
void session_drop_keeping(struct session *session, const struct err *why);
void session_stop_keeping(struct session *session); /* the session is no longer kept */

/* Records on disk that the session is now at its current state. */
void session_keep_place(struct session *session);

/* Set whether the current state must be written; disk_try_again repeats a write that failed. */
void disk_set_due(struct disk *disk, bool is_due);
void disk_try_again(struct disk *disk);

/* ---- session_sleep.c ---- */

bool session_can_sleep(const struct session *session);

/* The state that the session would wake in: the one that it is at, or, if that is not on disk, the
 * newest. NULL: nothing is on disk. */
const struct store_state *session_waking_state(const struct session *session);

/* Whether the session would wake in this state, or is reading it now. */
bool session_needs_state(const struct session *session, const struct store_state *state);
void session_sleep(struct session *session, const struct err *why);
void session_lie_down(struct session *session, const struct err *why); /* after session_let_go */
void session_begin_reload(struct session *session); /* session->now says to which state */
void session_drop_reload(struct session *session, const struct err *why);
bool session_may_begin(const struct session *session); /* false: the sandbox is half filled */

/* During a reload the head has died of the state that it read. Sets `err` to the message for the
 * client: ERR_CONFLICT with EBADMSG, the session sleeps, and another state helps. */
void session_say_unread(const struct session *session, const struct box_exit *facts,
			struct err *err);

/* A change of policy is under way, so that no new request is accepted. */
bool session_is_changing(const struct session *session);

/* ---- session_record.c ---- */

int session_put_record(struct buf *buf, const struct session *session);
int session_store_record(struct session *session, struct err *err); /* on disk, if states are */
void session_record(struct session *session);
void session_record_end(struct session *session);

/* ---- session_told.c ---- */

/* Tells the followers of the session if a client would see a difference. */
void session_show(struct session *session);

/* ERR_CONFLICT with ENOTRECOVERABLE if the session is lost: the client has to make a new one. */
int session_check_lives(const struct session *session, struct err *err);

/* Why a rollback to the current state leaves, or left, /workspace as it is: "shared", "skipped", or
 * "coming" while the files are being copied. NULL: it restores the files. */
const char *session_files_left(const struct session *session);

/* Appends what the result of `run` says about checkpoints: a member with its leading comma. */
void session_put_left(struct session *session, const char *run, bool lives, struct buf *buf);

/* A run is over and its head lives. */
void back_note_run(struct way_back *back, const char *run);

/* Notes which runs the rollback to this checkpoint undoes, and why it does not go to a newer
 * one. */
void session_note_back(struct session *session, const struct checkpoint *to);

/* How many runs that changed the session have ended since `since_ms`. Appends the first of their
 * ids to `ids` (may be NULL). */
uint64_t session_runs_since(const struct session *session, uint64_t since_ms, json_t *ids);

/* ---- look.c ---- */

void looks_work(struct session *session);
void looks_fail(struct session *session, const struct err *why);
