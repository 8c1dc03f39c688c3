// SPDX-License-Identifier: Apache-2.0
/*
 * Run - one execution of code or of a shell command, from request to verdict
 *
 * Owns:    what the run said so far (output, events, parts of the result), its limits and its end.
 * May not: trust the sandbox: lengths before bytes, limits before allocation, names never used as
 *          paths; nor delay its end for pipes that somebody inside still holds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "policy/plan.h"
#include "policy/runtime.h"
#include "session/events.h"
#include "session/log.h"
#include "session/pool.h"
#include "session/result.h"
#include "session/testimony.h"
#include "session/verdict.h"

#define RUN_RETURNED_MAX (8U << 20) /* bytes of one file in its event */
#define RUN_SAVED_MAX (8U << 20)    /* bytes of a saved state: with its base64 it fits an event */

struct run;

/* Bytes of a request: from memory or from a file, copied once into what the sandbox gets. */
struct run_bytes {
	const void *data; /* borrowed until run_start returns */
	uint64_t size;
	int fd;      /* borrowed until run_start returns; used when data is NULL and size > 0 */
	uint64_t at; /* where in `fd` the bytes begin */
};

struct run_file {
	const char *path; /* relative to /workspace, or below it */
	struct run_bytes bytes;
};

enum run_data_format {
	RUN_DATA_NONE,
	RUN_DATA_JSON,
	RUN_DATA_CSV,
	RUN_DATA_TSV,
	RUN_DATA_SQLITE,
	RUN_DATA_PARQUET,
};

enum run_stdin {
	RUN_STDIN_NONE,  /* end of file at once */
	RUN_STDIN_BYTES, /* stdin_bytes */
	RUN_STDIN_LIVE,  /* stdin_fd, as it comes */
	RUN_STDIN_PIPE,  /* what run_stdin_write gives */
};

/* What happens. Pointers are borrowed until run_start returns, but where said otherwise. */
struct run_request {
	struct run_bytes code;
	bool is_command;             /* the code is for the shell */
	struct run_bytes lead, tail; /* Python of a door's own, run before and behind the code */
	struct run_bytes tool; /* ... run in its place, with the code as `_code`; size 0: none */

	struct box_kind kind;
	const struct runtime *guard_runtime; /* not NULL: check the code first, in a bare sandbox */
	const struct text_list *guard_block; /* names added to the guard's own list; may be NULL */
	const struct text_list *guard_allow; /* ... and taken from it */
	bool is_guard_strict;

	uint32_t timeout_ms;
	uint32_t timeout_max_ms; /* the policy's; for the remedy */
	uint64_t output_max;     /* bytes of each stream that are kept; 16x ends the run */
	uint64_t file_max;       /* bytes of one reported file; 0: default */
	uint32_t files_max;      /* count of reported files; 0: default 1000 */
	uint64_t result_max;     /* bytes of result, displays, tables each; 0: default */

	struct run_bytes args; /* JSON text; size 0: none */
	struct run_bytes data;
	enum run_data_format data_format;
	const char *data_query;

	enum run_stdin stdin_kind;
	struct run_bytes stdin_bytes;
	int stdin_fd; /* borrowed until the run is over */

	const char *const *env; /* "K=V", NULL-terminated, or NULL */
	const struct run_file *files;
	size_t file_count;
	const char *const *expect;   /* NULL-terminated, or NULL */
	const char *cwd;             /* NULL: /workspace */
	const char *const *argv;     /* NULL-terminated; NULL: a cell, no script */
	struct run_bytes files_json; /* JSON text [{"path","text"|"base64"}]; read in the sandbox */
	bool want_files;             /* bytes of new and changed files through the file call */
	bool returns_files;          /* and in their events: those that are not too large */
	bool keep_events;            /* make the text of every event and keep it in run->events */
	struct run_bytes saved;      /* base64 of what another run saved; read in the sandbox */
	uint64_t saved_max;          /* save the variables, at most so many bytes; 0: do not */
	const char *stand_ins;       /* static: names that the code expects to find; NULL: none */
	bool is_sidecar;             /* as a sidecar means it */
	const char *look;      /* a question instead of code: JSON; `code` is what goes with it */
	bool is_session;       /* the interpreter lives on: threads and exit handlers, too */
	bool is_transactional; /* ask what would block a checkpoint */
	struct log *log;       /* events go there, and outlive us; NULL: to run->events */
	const char *id;        /* its id, where it has one already */
	const char *backend;   /* a name pins it; "auto" or NULL: the best that is there */
	const char *runtime;   /* as it was asked for; NULL: not. For who runs it elsewhere */
	bool is_forwarded;     /* it was passed on to us: not once more */
	bool is_held;          /* it waits for run_allow */
	uint32_t held_ms;      /* > 0: ... so long, and is denied then */
	const char *root;      /* of an explore: the name of a folder that somebody else has */
};

/* Each may be NULL. They come from the loop, never from inside run_start, but `begun`. */
struct run_calls {
	/* Bytes as they were written, cut at output_max. `stream` is 1 or 2. */
	void (*output)(void *user, int stream, const void *bytes, size_t size);

	/* A display, chart, table, result, error or file: `value` is its JSON text, ASCII, checked.
	 */
	void (*fact)(void *user, const char *type, const char *value, size_t size);

	/* A piece of a file that the run made. The path is UTF-8 text and hostile. */
	void (*file)(void *user, const char *path, const void *bytes, size_t size, bool is_last);

	/* Its code is on from now; `started` has been told. Also from inside run_start. */
	void (*begun)(void *user, struct run *run);

	/* The verdict is there; the last call. The run may be freed in it. */
	void (*done)(void *user, struct run *run);
};

/* What became of a session's variables. */
enum run_left {
	RUN_LEFT_NONE, /* no session */
	RUN_LEFT_PRESERVED,
	RUN_LEFT_ROLLED_BACK,
	RUN_LEFT_LOST,
};

/* Whoever lends a run its interpreter, and goes on with it afterwards: a session. */
struct run_host {
	/* The runner said DONE: nothing runs any more. run_ended follows. */
	void (*end)(void *user, struct run *run);

	/* It must not go on. run_exited follows. */
	void (*stop)(void *user, struct run *run);

	/* It was held, and is no more: it may be its turn. */
	void (*allowed)(void *user, struct run *run);

	/* The verdict is there, and not told yet: say with run_leave what is left. */
	void (*over)(void *user, struct run *run);
};

struct head;

/* What is known when a run is over; run_facts() gives it. */
struct run_facts {
	const char *id;
	const char *runtime; /* its name */
	const char *backend;
	uint32_t walls;  /* a bit per enum wall_id, as the sandbox reported */
	bool is_claimed; /* all of this is another machine's word */
	bool has_limits;
	enum box_limits limits;
	struct verdict verdict; /* kind VERDICT_NONE while it runs */
	struct run_usage usage;
	struct run_truncated truncated;
	const struct buf *out, *err;                 /* raw bytes, cut at output_max */
	const struct buf *result, *error, *table;    /* JSON text each; empty: null */
	const struct buf *displays, *charts, *files; /* JSON texts with commas between; empty: [] */
	const struct buf *saved;                     /* JSON text: the saved state; empty: none */
	const struct buf *missing; /* expected files that are not there, likewise */
	uint32_t pid;              /* of the sandbox's interpreter, inside */
	uint64_t memory;           /* bytes the sandbox had at its end; 0: not known */
	enum run_left left;
	const struct buf *checkpoint; /* member of the result, from its comma on */
};

/* Chooses the backend that does it: request->kind.backend, from here to its box. ERR_UNSUPPORTED
 * and its like when none may or can. */
int run_choose(struct pool *pool, struct run_request *request, struct err *err);

/* Starts a run. On success exactly one `done` follows. Fails only for requests that cannot be
 * (a bad path, a payload too large): nothing has happened then. */
int run_start(struct pool *pool, const struct run_request *request, const struct run_calls *calls,
	      void *user, struct run **ret_run, struct err *err);

/* A run that will happen in a session's head: it waits for run_begin (and for its guard). */
int run_prepare(struct pool *pool, const struct run_request *request, const struct run_host *host,
		void *host_user, const struct run_calls *calls, void *user, struct run **ret_run,
		struct err *err);

/* Its turn: in this head, which is the run's until its end. */
void run_begin(struct run *run, struct head *head);

/* It ran when a former viv died, and still does: in `head`, or for a run of its own in `sandbox`.
 * What it said since is taken from the loop on. Fails when the log does not tell enough of it. */
int run_resume(struct pool *pool, struct log *log, const struct run_host *host, void *host_user,
	       struct head *head, struct sandbox *sandbox, const struct run_calls *calls,
	       void *user, struct run **ret_run, struct err *err);

/* One that will never be: its log ends with a verdict that says why. */
void run_bury(struct pool *pool, struct log *log, enum run_left left, const struct err *why);

/* The host's answers: the facts of a run whose head lives on, or of a head's end. */
void run_ended(struct run *run, const struct box_exit *facts);
void run_exited(struct run *run, const struct box_exit *facts, const struct err *why);

/* Its head has ended, and what that left is being seen to: a successor of this viv must know how.
 * `exit` NULL: launch did not say. */
void run_note_death(struct run *run, const struct box_exit *exit);

/* It cannot go on, whatever state it is in: over at once, as `cancelled` or for this reason. */
void run_abandon(struct run *run, bool is_cancelled, const struct err *why);

/* In `over`: what is left, and the members `"checkpoint":{...}` of the result ("" for none). */
#define RUN_LEFT_MAX (16U << 10)
void run_leave(struct run *run, enum run_left left, const char *checkpoint);

/* Has any of its code run? Is it on? */
bool run_has_begun(const struct run *run);
bool run_is_running(const struct run *run);

/* What the runner said besides its testimony: what blocks a checkpoint (""), were files changed? */
const char *run_blocker(const struct run *run);

/* Did the runner itself fail, in place of the code? Of a look never. */
enum testimony_failed run_failed(const struct run *run);
bool run_files_dirty(const struct run *run);

/* ---- held: all that it needs is here, and nothing of it has happened ---- */

bool run_is_held(const struct run *run);

/* It will go its way, when there is room: it is not denied any more. */
void run_allow_later(struct run *run);

/* It goes its way from here on. `pool` is the one there is now. */
void run_allow(struct run *run, struct pool *pool);

/* It will never be: its verdict is `denied`, with this message. */
void run_deny(struct run *run, const char *message);

/* The same for one that a former daemon held. */
void run_bury_held(struct pool *pool, struct log *log, enum run_left left, const char *message);

/* Writes to a live stdin; is_end closes it. ERR_CONFLICT when it has none, ERR_BUSY when the code
 * has not read what came before. */
int run_stdin_write(struct run *run, const void *bytes, size_t size, bool is_end, struct err *err);

/* What was written as an event `stdin`, for those who follow. As much as people type: the events of
 * a run take no more than RUN_ECHO_MAX bytes of it. */
#define RUN_ECHO_MAX (64U << 10)
void run_tell_stdin(struct run *run, const void *bytes, size_t size);

/* Holds back what it says over its channel: whoever gets it has no room. */
void run_hold(struct run *run, bool is_held);

/* Is it a question (run_request.look)? */
bool run_is_look(const struct run *run);

/* Ends it: the verdict is `cancelled`, or `interrupted` when a person asked. */
void run_cancel(struct run *run, bool is_interrupt);

/* Runs the loop until it is over. For programs that do one thing. */
void run_wait(struct run *run);

bool run_is_over(const struct run *run);
struct run_facts run_facts(const struct run *run);
struct events *run_events(struct run *run);

/* The result as native JSON (contracts: native, 2.2), appended to `buf`; "verdict" is null while
 * it runs. */
int run_result(const struct run *run, struct buf *buf, struct err *err);

/* Only after done. Accepts NULL. */
void run_free(struct run *run);
