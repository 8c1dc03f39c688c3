// SPDX-License-Identifier: Apache-2.0
/*
 * Run state - the inside of a run, for run*.c and result.c alone
 *
 * Owns:    nothing of its own. run.c moves a run through its life and owns whatever no other file
 *          does; run_told.c takes what the code writes, run_stdin.c gives the code its stdin,
 *          run_job.c has the run done elsewhere, run_resume.c continues a run of the previous viv.
 */
#pragma once

#include "backend/job.h"
#include "session/feed.h"
#include "session/guard.h"
#include "session/order.h"
#include "session/payload.h"
#include "session/run.h"
#include "session/sandbox.h"
#include "session/testimony.h"

#define RUN_OUTPUT_FACTOR 16U    /* a run is ended when it writes more than its limit times this */
#define RUN_EVENTS_MAX 10000U    /* events besides output that are kept */
#define RUN_KEPT_MAX (64U << 20) /* bytes of all parts of the result together */
#define RUN_FILE_PATH_MAX 4096U
#define RUN_FRAMES_MAX (16UL * RUN_EVENTS_MAX)

enum run_state {
	RUN_HELD,    /* waits for run_allow */
	RUN_QUEUED,  /* waits for its sandbox or head, or for the guard */
	RUN_FAILING, /* will never begin: run_finish follows from the loop */
	RUN_RUNNING, /* the code has been sent */
	RUN_ENDING,  /* killed; the facts of its end have not come yet */
	RUN_OVER,
	RUN_FREED, /* the close of its last handle frees the memory */
};

/* The terms of the request: limits of the run, and what it must deliver. */
struct run_terms {
	uint32_t timeout_ms, timeout_max_ms;
	uint64_t output_max, memory_max, files_bytes_max;
	uint32_t files_max;
	enum run_stdin stdin_kind;
	bool is_look;
	bool keeps_events;
	bool wants_files;   /* a caller takes the bytes of its files */
	bool returns_files; /* ... as part of the file events */
	bool needs_cgroup;
};

/* Things that a run waits for before it begins (run.c). */
struct run_waiting {
	struct guard *guard; /* owned; NULL: not asked, or has said yes */
	struct pool_ticket *ticket;
	struct payload check;                /* owned: the question for the guard */
	const struct runtime *guard_runtime; /* NULL: no guard */
	struct box_kind kind;                /* of a held run: trust and data are owned copies */
};

/* Where a run happens (run.c). */
struct run_place {
	/* A static row: the backend that makes the sandbox or takes the job; NULL: none. */
	const struct backend *maker;
	const char *backend;         /* static: name of the backend it is in now; "": none yet */
	const struct run_host *host; /* NULL: the run has a sandbox of its own */
	void *host_user;             /* borrowed until over */
	struct sandbox *sandbox;     /* without a host the run's own, until sandbox_end */
	struct head *head;           /* the host's, borrowed from run_begin to the end */
	struct channel *channel;     /* of head or sandbox; NULL: not yet, or no longer */
	struct stream *out, *err;
	struct frame_hello hello; /* of the sandbox, or what the other machine claims */
	bool has_limits;
	enum box_limits limits;
	struct box_mark mark; /* of the run's own interpreter, when the code was sent, */
	uint64_t own_us;      /* ... and the CPU time it had used at the end */
};

struct run_stream {
	struct buf kept;    /* bytes as written, cut at the limit; unused if a log has them */
	uint64_t kept_size; /* bytes reported so far */
	uint64_t seen;      /* bytes as written */
	uint8_t held[4];    /* the start of a character whose other bytes have not come */
	size_t held_size;
};

/* The file whose pieces are arriving, and the totals of all files (run_told.c). */
struct run_incoming {
	char path[RUN_FILE_PATH_MAX + 1];
	enum {
		INCOMING_PART,
		INCOMING_WHOLE, /* the last piece has come */
		INCOMING_CUT,   /* the file does not fit */
	} state;
	struct buf bytes; /* used if they are to be returned */
	uint32_t count;
	uint64_t total, returned_total; /* bytes */
};

/* Output and reports of the run so far (run_told.c). */
struct run_told {
	struct log *log;      /* borrowed; NULL: events stay in memory */
	struct events events; /* ... here */
	bool is_started;      /* the event `started` has been sent */
	struct run_stream streams[2];
	struct buf parts[RESULT_COUNT]; /* facts, in JSON text */
	uint64_t kept;                  /* bytes in parts */
	struct run_incoming file;
	struct run_truncated cut;
	uint64_t frame_mark; /* counter of the last frame taken */
	uint64_t frames, frame_bytes;
	uint64_t event_bytes; /* of all events, kept or not */
	uint64_t piece_bytes; /* bytes logged before their frame was complete */
	uint32_t event_count;
	uint32_t listed_count; /* files that were reported */
	uint32_t noise;        /* events that were dropped, since their types were wrong */
};

/* The run's stdin (run_stdin.c). */
struct run_input {
	int write;     /* owned: the writing end of a live stdin; -1: none */
	int read;      /* owned: to empty the pipe once `write` is closed; else -1 */
	size_t echoed; /* bytes written there that were also sent as events */
	int fd;        /* for RUN_STDIN_LIVE: the source, borrowed until over */
	struct feed feed;
};

/* A run that is done elsewhere (run_job.c). */
struct run_job {
	struct backend_job *job; /* owned, from its beginning to its end */
	struct order order;      /* owned: the job's request */
	enum backend_use use;    /* what the job is for */
	struct verdict claim;    /* the verdict that the other side reported; VERDICT_NONE: none */
};

/* How a run ended (run.c). */
struct run_end {
	struct verdict_facts facts;
	struct verdict_testimony testimony;
	struct testimony_extras extras;
	struct verdict verdict;
	struct run_allowed allowed;
	enum run_left left;
	struct buf checkpoint; /* a member of the result; "" for none */
};

struct run {
	char id[ID_SIZE];
	enum run_state state;
	uint64_t asked_ns, begun_ns, over_ns;
	struct pool *pool; /* borrowed: outlives every run */
	struct run_calls calls;
	void *user; /* borrowed until done */
	uv_timer_t timer;
	int handles;

	char *runtime; /* owned: its name */
	uint64_t nonce;
	struct payload payload;
	struct run_terms terms;
	struct run_waiting waiting;
	struct run_place place;
	struct run_told told;
	struct run_input input;
	struct run_job job;
	struct run_end end;
};

/* ---- run.c ---- */

/* Makes a run that has only its timer. */
struct run *run_blank(struct pool *pool, const char *id, const struct run_calls *calls, void *user);

/* Takes channel and pipes of the head, or of the sandbox if head is NULL, and the sandbox's
 * walls. */
void run_take_place(struct run *run, struct head *head, struct sandbox *sandbox);

/* Reads what the code writes from now on, and starts the timer. */
void run_listen(struct run *run);

void run_timer_due(uv_timer_t *timer);

/* Kills the running code: RUN_ENDING. */
void run_stop(struct run *run);

/* Makes the verdict, reports it, and releases everything. */
void run_finish(struct run *run);

/* One of the run's handles has closed; the last one of a freed run frees the memory. */
void run_handle_closed(void *user);

/* ---- run_told.c ---- */

void run_told_init(struct run_told *told);
void run_told_done(struct run_told *told);

/* Adds one event to the log, or to the events in memory. */
void run_tell(struct run *run, const char *type, const void *members, size_t size);

/* Adds the first event, `started`, once. */
void run_tell_started(struct run *run);

/* Takes everything written so far, so that later events come after it. */
void run_drain(struct run *run);

/* Reports the bytes of an incomplete character as they are. */
void run_streams_end(struct run *run);

/* Take what the sandbox sends, which is never trusted: a frame, a piece of a frame (kept in the log
 * until the rest has come), bytes of stdout (1) or stderr (2). */
void run_frame(void *user, const struct frame *frame);
void run_piece(void *user, const struct frame *piece);
void run_bytes_in(void *user, int number, const uint8_t *data, size_t size);

/* Takes a fact of this type; a type that has no row is dropped. */
void run_take_fact(struct run *run, const char *type, const char *value, size_t size);

/* Takes all bytes of a file, a JSON string of base64, for the fact that follows. */
void run_take_base64(struct run *run, const char *path, const char *value, size_t size);

/* ---- run_stdin.c ---- */

/* Makes the stdin of a run in a head: the caller sends `ret_read` (-1: none) to the head. */
int run_stdin_lend(struct run *run, int *ret_read, struct err *err);

/* Makes the stdin of a run in a sandbox of its own. */
int run_stdin_feed(struct run *run, struct err *err);

/* Continues the stdin that the previous viv made. */
void run_stdin_resume(struct run *run);

/* Takes back the bytes that the code has not read. */
void run_stdin_end(struct run *run);

/* ---- run_job.c ---- */

/* Is the run done elsewhere? */
bool run_is_job(const struct run *run);

/* Prepares the job's request; starts the job. */
int run_job_prepare(struct run *run, const struct run_request *request, struct err *err);
void run_job_go(struct run *run);

/* Replaces the verdict made from our own facts by the one that the other side reported. */
void run_job_finish(struct run *run);

/* ---- run_resume.c ---- */

/* Writes into the log what the next viv must know about a run under way; `done` is the testimony,
 * once it has come. Does nothing without a log. */
void run_note(struct run *run, const void *done, size_t size);

/* ---- result.c ---- */

/* Appends the members of the verdict event, from a comma on. */
int result_verdict_members(const struct run *run, struct buf *buf);
