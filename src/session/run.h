// SPDX-License-Identifier: Apache-2.0
/*
 * Run - one execution of code or of a shell command, from request to verdict
 *
 * Owns:    what the run said so far (output, events, parts of the result), its limits and its end.
 * May not: trust the sandbox: lengths before bytes, limits before allocation, names never used as
 *          paths; nor delay its end for pipes that a process inside still holds.
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
#include "session/request.h"
#include "session/result.h"
#include "session/testimony.h"
#include "session/verdict.h"

struct run;

/* Each may be NULL. All but `begun` are called from the loop, never from inside run_start. */
struct run_calls {
	/* Bytes as they were written, cut at output_max. `stream` is 1 or 2. */
	void (*output)(void *user, int stream, const void *bytes, size_t size);

	/* A display, chart, table, result, error or file: `value` is its JSON text, ASCII, checked.
	 */
	void (*fact)(void *user, const char *type, const char *value, size_t size);

	/* A piece of a file that the run made. The path is UTF-8 text and hostile. */
	void (*file)(void *user, const char *path, const void *bytes, size_t size, bool is_last);

	/* The code starts now; the event `started` has been sent. Also called from inside
	 * run_start. */
	void (*begun)(void *user, struct run *run);

	/* The verdict is known. The last call; the run may be freed in it. */
	void (*done)(void *user, struct run *run);
};

/* The fate of a session's variables. */
enum run_left {
	RUN_LEFT_NONE, /* no session */
	RUN_LEFT_PRESERVED,
	RUN_LEFT_ROLLED_BACK,
	RUN_LEFT_LOST,
};

/* The owner of the interpreter that a run borrows and gives back: a session, or a look, which has
 * none of these calls. */
struct run_host {
	/* The runner itself failed. Is there a state to go back to, so that the head can end? */
	bool (*can_go_back)(void *user);

	/* The run was held and has been allowed: it may be its turn. */
	void (*allowed)(void *user);

	/* The verdict is known but not told yet. Returns what became of the variables. `checkpoint`
	 * gets the member `"checkpoint":{...}` of the result, or nothing. */
	enum run_left (*over)(void *user, struct run *run, struct buf *checkpoint);
};

struct head;

/* The facts of a run that is over; run_facts() gives them. */
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
	struct run_allowed allowed;
	struct run_truncated truncated;
	const struct buf *out, *err; /* raw bytes, cut at output_max */
	/* Facts by enum result_member: the JSON text of each; for a list, its items separated by
	 * commas; empty: none. */
	const struct buf *parts;
	const struct buf *missing;  /* expected files that do not exist: items of a list */
	const struct buf *left_out; /* links and the like that the run made: items of a list */
	uint32_t pid;               /* of the sandbox's interpreter, inside */
	uint64_t memory;            /* bytes the sandbox used at the end; 0: not known */
	enum run_left left;
	const struct buf *checkpoint; /* member of the result, from its comma on */
};

/* Chooses the backend for the run and stores it in request->kind.backend, which nothing changes
 * later. Fails, for example with ERR_UNSUPPORTED, if no backend may or can do the run. */
int run_choose(struct pool *pool, struct run_request *request, struct err *err);

/* Starts a run. On success exactly one `done` follows. Fails only for invalid requests (a bad path,
 * a payload that is too large), before anything has happened. */
int run_start(struct pool *pool, const struct run_request *request, const struct run_calls *calls,
	      void *user, struct run **ret_run, struct err *err);

/* Prepares a run in a session's head: it waits for run_begin (and for its guard). */
int run_prepare(struct pool *pool, const struct run_request *request, const struct run_host *host,
		void *host_user, const struct run_calls *calls, void *user, struct run **ret_run,
		struct err *err);

/* The pool may have ended, and another taken its place, while the prepared run waited. */
void run_set_pool(struct run *run, struct pool *pool);

/* Starts a prepared run in this head, which belongs to the run until its end. */
void run_begin(struct run *run, struct head *head);

/* Continues a run that was under way when the previous viv died: in `head`, or in `sandbox` for a
 * run without a session. Output written since then is read from the loop. Fails if the log does not
 * say enough about it. */
int run_resume(struct pool *pool, struct log *log, const struct run_host *host, void *host_user,
	       struct head *head, struct sandbox *sandbox, const struct run_calls *calls,
	       void *user, struct run **ret_run, struct err *err);

/* Ends the log of a run that will never start or continue, with a verdict that says why. */
void run_bury(struct pool *pool, struct log *log, enum run_left left, const struct err *why);

/* The run's head or sandbox has ended. `user` is the run. `facts` NULL: how it ended is not known,
 * and `why` says why not. */
void run_exited(void *user, const struct box_exit *facts, const struct err *why);

/* Notes in the log how the run's head ended, for the next viv: this viv may die while the session
 * goes back to a checkpoint. `exit` NULL: the box did not say. */
void run_note_death(struct run *run, const struct box_exit *exit);

/* Ends the run at once, whatever state it is in: as `cancelled`, or for this reason. */
void run_abandon(struct run *run, bool is_cancelled, const struct err *why);

#define RUN_LEFT_MAX (16U << 10) /* bytes of what `over` says about a checkpoint */

/* Does the run wait for its turn? Has any of its code run? Is it under way? */
bool run_may_begin(const struct run *run);
bool run_has_begun(const struct run *run);
bool run_is_running(const struct run *run);

/* The runner's reports besides its testimony. */
const struct testimony_extras *run_extras(const struct run *run);

/* To be called before a run begins in a state in which the runner has failed: the runner first
 * tests itself. If that fails, the run ends before its code, with FAILED_START. */
void run_doubt(struct run *run);

/* Did the runner itself fail, rather than the code? Never true of a look. */
enum testimony_failed run_failed(const struct run *run);

/* ---- held runs: complete, but nothing of them has happened ---- */

bool run_is_held(const struct run *run);

/* The run is allowed but has to wait for room: its time limit for being held no longer applies. */
void run_allow_later(struct run *run);

/* Lets the run proceed. `pool` is the current one. */
void run_allow(struct run *run, struct pool *pool);

/* Ends the run with the verdict `denied` and this message. `is_undecided`: nobody refused the
 * run, because its time was up or the daemon ends, and it can be asked for again. */
void run_deny(struct run *run, const char *message, bool is_undecided);

/* The same for a run that the previous daemon held. */
void run_bury_held(struct pool *pool, struct log *log, enum run_left left, const char *message);

/* Writes to a live stdin; `is_end` closes it. ERR_CONFLICT if the run has none, ERR_BUSY if the
 * code has not read the earlier bytes. */
int run_stdin_write(struct run *run, const void *bytes, size_t size, bool is_end, struct err *err);

/* Reports what was written as an event `stdin`, for followers. This is meant for what people type:
 * the events of a run take at most RUN_ECHO_MAX bytes of it. */
#define RUN_ECHO_MAX (64U << 10)
void run_tell_stdin(struct run *run, const void *bytes, size_t size);

/* Pauses or resumes the run's channel, while its reader has no room. */
void run_hold(struct run *run, bool is_held);

/* Is the run a look (run_request.look)? */
bool run_is_look(const struct run *run);

/* Ends the run: the verdict is `cancelled`, or `interrupted` if a person asked. */
void run_cancel(struct run *run, bool is_interrupt);
void run_cancel_for(struct run *run, const struct err *why); /* ... with a reason */

/* Runs the loop until the run is over. For programs that do one thing. */
void run_wait(struct run *run);

bool run_is_over(const struct run *run);
struct run_facts run_facts(const struct run *run);
struct events *run_events(struct run *run);

/* Appends the result as native JSON (contracts: native, 2.2) to `buf`; "verdict" is null while the
 * run is under way. `ret_result` (may be NULL) is the same as a value, which borrows from `buf`. */
int run_result(const struct run *run, struct buf *buf, struct result *ret_result, struct err *err);

/* Only after done. Accepts NULL. */
void run_free(struct run *run);
