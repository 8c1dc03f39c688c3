// SPDX-License-Identifier: Apache-2.0
/*
 * Session state - the inside of sessions, for session*.c and look.c alone
 *
 * Owns:    nothing of its own. session.c makes and ends sessions, session_jobs.c takes their runs
 * in order, session_heads.c forks and rolls back, session_branch.c makes branches, session_life.c
 * watches the clock and freezes, session_left.c ends what runs have left, session_keep.c writes
 * states to disk, session_sleep.c makes sessions of them again, session_record.c writes and reads
 * what a successor needs, session_told.c and session_put.c tell clients, session_states.c is asked
 * for states, session_change.c gives it another policy, look.c asks throw-away forks.
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
#define SESSION_FORK_MS                                                                            \
	20000U /* a fork of 64 GiB takes seconds; one that takes longer is stuck                   \
		*/

/* Processes in its sandbox that are no heads: what its runs have left. */
enum session_left {
	LEFT_UNKNOWN, /* it was used since launch was asked */
	LEFT_NONE,
	LEFT_SOME,
	LEFT_ENDED, /* they were; interpreters that go on are looked at from time to time */
};

/* Whose files a checkpoint has. */
enum checkpoint_files {
	FILES_NONE,    /* /workspace was empty */
	FILES_SAVED,   /* launch has copies */
	FILES_SKIPPED, /* too many, or shared with a branch: they stay as they are */
};

struct checkpoint {
	char id[ID_SIZE], parent[ID_SIZE], run[ID_SIZE];
	char *name; /* owned; NULL: unnamed, and dropped when there are too many */
	uint64_t created_ms;
	uint64_t memory; /* bytes the session had then */
	enum checkpoint_files files;
	uint64_t files_version; /* session->files_version then */
	struct head *head;      /* owned: it is parked */
	bool is_keep_tried;     /* it could not be written to disk */
	uint32_t head_number;   /* after a restart: the head that is looked for, */
	pid_t head_pid;         /* ... and its process: numbers are used again */
	TAILQ_ENTRY(checkpoint) entry;
};

enum job_kind {
	JOB_RUN,
	JOB_CHECKPOINT,
	JOB_ROLLBACK,
	JOB_FORK,
	JOB_RELOAD, /* another sandbox, filled from a state on disk */
};

/* One thing to do, in order. */
struct job {
	enum job_kind kind;
	struct run *run; /* borrowed: whoever asked owns it */
	char checkpoint[ID_SIZE];
	bool has_variables;            /* of JOB_RELOAD; false: only the files come */
	struct session_change *change; /* owned, of JOB_RELOAD: what the session is to be; NULL */
	char *name;                    /* owned */
	void (*done)(void *user, const char *checkpoint, const struct err *why);
	void (*forked)(void *user, struct session *branch, const struct err *why);
	void *user; /* borrowed until one of these */
	TAILQ_ENTRY(job) entry;
};

/* The output of a branch: pipes of its own. */
struct branch_pipes {
	struct stream out, err;
	int handles;
	bool is_freed;
};

/* A session that this one, or one before it, was forked from. */
struct origin {
	char session[ID_SIZE];
	char run[ID_SIZE]; /* the last one that had begun there by then */
};

struct session {
	char id[ID_SIZE];
	char home[ID_SIZE]; /* the name that launch keeps its sandbox by: the first session's id */
	char *name, *token; /* owned */
	struct sessions *table;
	struct pool *pool; /* borrowed: NULL once lost */
	const struct policy *policy;
	struct box_kind kind;      /* trust and data are owned copies */
	const struct backend *pin; /* a static row: its sandboxes are of this one; NULL: the best */
	enum session_state state;
	bool is_transactional;
	bool is_restored; /* from the journal, and launch has not told of its sandbox yet */

	struct pool_ticket *ticket;
	struct sandbox *sandbox; /* shared with its branches */
	uint32_t sandbox_id;     /* after a restart: what is looked for */
	uint32_t head_number;
	pid_t head_pid;
	struct head *head, *coming;
	struct session *branch; /* borrowed: the one that is being made from this */

	/* The head that died with its run: what is left is told when it is known. */
	struct head *dead; /* owned; NULL: none */
	bool has_dead_facts;
	struct box_exit dead_facts;
	struct err dead_why;

	struct branch_pipes *pipes; /* owned; NULL: the sandbox's */
	TAILQ_HEAD(checkpoint_list, checkpoint) checkpoints;
	char current[ID_SIZE]; /* the checkpoint that the head comes from; "": none */
	char next[ID_SIZE];    /* the one that is being made */
	char suspect[ID_SIZE]; /* the checkpoint from which the runner failed last; "": none */
	char last_run[ID_SIZE];
	struct origin *origins; /* owned: of a branch, the first one first; NULL: none */
	uint32_t origin_count;
	char since[SESSION_SINCE_MAX][ID_SIZE]; /* runs that are in no checkpoint yet */
	uint32_t since_count;
	struct buf back; /* members that tell of the last way back: runs that it undid, and why, */
	uint32_t back_count;                /* ... how many these are, */
	char back_why[SESSION_BLOCKER_MAX]; /* ... and why the state is no newer; "" */
	char blocker[SESSION_BLOCKER_MAX];  /* why there is no checkpoint of the latest state */
	bool needs_checkpoint, files_dirty;
	uint64_t files_version; /* of the files as they are; 0: a head that died may have changed
				   them */
	uint64_t files_changes; /* versions given so far: none comes twice */
	enum checkpoint_files files; /* of the head as it is */

	TAILQ_HEAD(job_list, job) jobs;
	struct job *now; /* owned: under way */
	uint64_t turns;  /* runs that have begun, and whatever else the head did itself */

	bool is_kept;          /* its states are written to disk, and it sleeps instead of ending */
	bool is_counted;       /* as one of its token's: one that sleeps is not */
	bool needs_keeping;    /* what it is now is not on disk */
	struct stored *stored; /* borrowed from the store; NULL: nothing is on disk */
	struct keeping *keeping; /* owned: a state on its way there */
	struct reload *reload;   /* owned: a new sandbox is being filled */
	uint64_t keep_at_ns;     /* the next state is not written before */
	char kept[ID_SIZE];      /* the state on disk that it is in, or was last; "": none */
	char keep_why[SESSION_BLOCKER_MAX]; /* why the last one could not be written; "" */
	char *woken; /* owned: what the first run after a wake tells, JSON; NULL: nothing */
	LIST_HEAD(, look) looks;
	struct run *run; /* borrowed: the one that is on */
	void (*interrupted)(void *user, const struct err *why);
	void *interrupt_user;

	void (*created)(void *user, struct session *session, const struct err *why);
	void *create_user;
	struct err why; /* LOST */

	uint64_t created_ms, used_ms; /* since 1970; the clock may jump: lifetimes use `_ns` */
	uint64_t created_ns, used_ns;
	uint32_t idle_ms, ttl_ms;
	uint64_t runs, memory;
	bool is_warned;
	enum session_left left;
	bool is_put_off; /* what is due at rest could not be done */
	uint32_t freeze_tries;
	struct log *log;            /* borrowed: its own events; NULL: none */
	struct journal_place place; /* of its last record */

	uv_timer_t timer; /* lifetimes, freezing */
	uv_timer_t kick;  /* look at the queue, in a moment */
	uv_timer_t guard; /* a fork, or a grace, that takes too long */
	uv_timer_t late;  /* a fork for a look that takes too long */
	uv_timer_t again; /* a state is written, or read on */
	int handles;
	const char *told_state; /* static: of the last `changed` */
	char told_run[ID_SIZE];
	char told_head[ID_SIZE];
	bool is_ended; /* out of the table: the last handle gives the memory back */
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
	bool is_stopping;    /* what is not on disk yet goes there without a pause */
	bool is_leaving;     /* the process ends: what is on disk stays */
	uint32_t count;
	LIST_HEAD(, session) buckets[SESSION_BUCKETS];
	LIST_HEAD(, replayed) replayed[SESSION_BUCKETS];
};

/* session.c */
size_t session_bucket(const char *id);
struct session *session_new(struct sessions *sessions, const char *id);
void session_lose(struct session *session, const struct err *why);
void session_copy_ask(struct session *session, const struct session_ask *ask);
void session_tell(struct session *session, const char *type, const char *members);
void session_open_log(struct session *session);
void session_let_go(struct session *session, const struct err *why);
void session_let_sandbox_go(struct session *session);
int session_take_sandbox(struct session *session, struct err *err);
/* Who makes its next sandbox, where it is to be as `change` says (NULL: as it is). */
int session_choose(const struct session *session, const struct session_change *change,
		   const struct backend **ret_backend, struct err *err);

/* session_put.c: whoever follows it is told, if a client would see a difference. */
void session_show(struct session *session);

/* session_jobs.c */
extern const struct run_host session_run_host;
struct job *session_add_job(struct session *session, enum job_kind kind, void *user);
void session_work(struct session *session);
void session_kick(struct session *session); /* session_work, from the loop */
void session_finish_job(struct session *session, const char *checkpoint, const struct err *why);

/* session_held.c: what is next, if it may begin: a run that is held keeps its place. */
struct job *session_next_job(const struct session *session);

/* session_jobs.c: is it there, or was it told of already and is being made? */
bool session_has_checkpoint(const struct session *session, const char *id);
void session_fail_jobs(struct session *session, const struct err *why);

/* session_told.c: what the result of a run says of its session, a member with its comma */
void session_put_left(struct session *session, bool lives, struct buf *buf);
void session_note_run(struct session *session, const char *run); /* it is over, the head lives */
void session_note_lost_run(struct session *session, const char *run); /* its checkpoint is gone */
void session_note_back(struct session *session, const struct checkpoint *to);

/* session_states.c */
int session_no_checkpoint(const struct session *session, const char *id, struct err *err);

/* session_change.c: a policy and a kind of sandbox, with texts of their own */
struct session_change *session_change_new(const struct session_change *from);
void session_change_free(struct session_change *change);

/* The session and `change` exchange policy and kind: done twice, it is what it was. */
void session_change_swap(struct session *session, struct session_change *change);

/* It is, or will be, on its way to another policy: what is asked now would be under the old one. */
bool session_is_changing(const struct session *session);

/* session_heads.c */
extern const struct head_calls session_head_calls;
void session_make_checkpoint(struct session *session);
void session_roll_back(struct session *session, struct checkpoint *checkpoint);
void session_roll_on(struct session *session);
struct checkpoint *session_find_checkpoint(const struct session *session, const char *id);
struct checkpoint *session_last_checkpoint(const struct session *session);

/* Where the run that is on is gone back to: the last one, or before it where the runner fails in
 * that. NULL: there is none. */
struct checkpoint *session_sound_checkpoint(const struct session *session);
void session_free_checkpoint(struct session *session, struct checkpoint *checkpoint);
void session_trim_checkpoints(struct session *session, uint32_t keep);
void session_fork_late(uv_timer_t *timer);
void session_tell_dead(struct session *session); /* its run is over now */
void session_settle(struct session *session, const char *checkpoint, const struct err *why);

/* session_branch.c */
void session_branch(struct session *session, const struct checkpoint *checkpoint);
void session_add_origin(struct session *branch, const char *session, const char *run);
void session_drop_branch(struct session *session);
void session_free_pipes(struct session *session);
void session_adopt_pipes(struct session *session, int take_fds[4]);

/* session_life.c */
void session_rest(struct session *session);
void session_wake(struct session *session);
void session_thaw(struct session *session);
void session_frozen(struct session *session, const struct err *why);
void session_timer_due(uv_timer_t *timer);
void session_arm(struct session *session);

/* session_left.c: asks launch what is left beside its heads, and has it ended where `kills`. Later,
 * where another session of the sandbox is at work. */
void session_sweep(struct session *session, bool kills);

/* session_left.c: once that was done: ends interpreters that go on computing. How often. */
void session_watch_left(struct session *session);
uint64_t session_look_ms(const struct session *session);

/* session_keep.c: states on their way to disk */
void session_keep(struct session *session); /* the next one, if one is due */
bool session_keep_is_due(const struct session *session);
void session_drop_keeping(struct session *session, const struct err *why);
void session_changed(struct session *session);
void session_keep_place(struct session *session);
void session_name_state(struct session *session, const char *id, const char *name);

/* session_sleep.c: without a sandbox, and another one */
bool session_can_sleep(const struct session *session);
void session_sleep(struct session *session, const struct err *why);
void session_lie_down(struct session *session, const struct err *why); /* all is let go of */
void session_begin_reload(struct session *session); /* session->now says to which state */
void session_reload_on(struct session *session);    /* its sandbox is there */
void session_reload_failed(struct session *session, const struct err *why);
void session_drop_reload(struct session *session, const struct err *why);
bool session_reload_changes(const struct session *session); /* it gets another policy or runtime */
bool session_may_begin(const struct session *session);      /* false: it is half full */

/* session_record.c */
int session_put_record(struct buf *buf, const struct session *session);
void session_record(struct session *session);
void session_record_end(struct session *session);

/* look.c */
void looks_work(struct session *session);
void looks_late(uv_timer_t *timer);
void looks_fail(struct session *session, const struct err *why);
