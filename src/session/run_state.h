// SPDX-License-Identifier: Apache-2.0
/*
 * Run state - the inside of a run, for run*.c and result.c alone
 *
 * Owns:    nothing of its own: run.c moves a run through its life, run_frames.c takes what its
 *          sandbox says, result.c puts it together.
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

#define RUN_OUTPUT_FACTOR 16U    /* past its limit times this, a run is ended */
#define RUN_EVENTS_MAX 10000U    /* events besides output that are kept */
#define RUN_KEPT_MAX (64U << 20) /* bytes of all parts of the result together */
#define RUN_FILE_PATH_MAX 4096U
#define RUN_FRAMES_MAX (16UL * RUN_EVENTS_MAX)

enum run_state {
	RUN_QUEUED,  /* waits for a sandbox, or for the guard */
	RUN_RUNNING, /* the code has been sent */
	RUN_ENDING,  /* killed; the facts are on their way */
	RUN_OVER,
};

/* What the result is made of, in JSON text. */
enum run_part {
	PART_RESULT,
	PART_ERROR,
	PART_TABLE,
	PART_DISPLAYS,
	PART_CHARTS,
	PART_FILES,
	PART_SAVED,
	PART_COUNT,
};

struct run_stream {
	struct buf kept;    /* bytes as written, cut at the limit; not where a log has them */
	uint64_t kept_size; /* bytes told so far */
	uint64_t seen;      /* bytes as written */
	bool is_cut;
	uint8_t held[4]; /* the start of a character whose rest has not come */
	size_t held_size;
};

struct run {
	char id[ID_SIZE];
	enum run_state state;
	struct pool *pool; /* borrowed: outlives every run */
	struct run_calls calls;
	void *user; /* borrowed until done */

	uint64_t nonce;
	struct payload payload;
	struct guard *guard; /* owned; NULL: not asked, or has said yes */
	struct pool_ticket *ticket;
	const struct backend *maker; /* a static row: who makes its sandbox; NULL: nobody did */
	struct sandbox *sandbox;     /* ours from taking to sandbox_end; a host's: NULL */
	struct head *head;           /* the host's, lent from run_begin to the end */
	const struct run_host *host; /* NULL: a sandbox of its own */
	void *host_user;             /* borrowed until over */
	struct channel *channel;     /* of head or sandbox, once it has begun */
	struct stream *out, *err;
	struct log *log;     /* borrowed: NULL where events stay in memory */
	uint64_t frame_mark; /* counter of the last frame that was taken */
	enum run_left left;
	struct buf checkpoint;    /* members of the result; "" for none */
	int stdin_write;          /* owned: the writing end of a live stdin; -1: none */
	int stdin_read;           /* owned: once that has ended, to empty the pipe by; else -1 */
	size_t echoed;            /* of what was written there: bytes that were told, too */
	bool is_ending;           /* the host was asked to end it, and has not answered */
	struct frame_hello hello; /* of the sandbox */
	struct feed feed;
	bool is_live; /* stdin_fd is fed */
	int stdin_fd; /* borrowed until over */
	uv_timer_t timer;
	int handles;
	bool is_freed; /* run_free was called: the last handle gives the memory back */

	char *runtime; /* owned: its name */
	const char *backend;
	const struct backend *elsewhere; /* a static row; NULL: in a sandbox of ours */
	struct backend_job *job;         /* owned, from run_go to its end */
	struct order order;              /* owned: what the job is asked */
	struct verdict claim;            /* its end as it was told; VERDICT_NONE: it was not */
	bool is_told;                    /* `started` has been */
	enum backend_use use;            /* what it is for */
	bool no_limits;                  /* nobody says by what its memory is limited */
	enum box_limits limits;
	uint64_t asked_ns, begun_ns, over_ns;
	struct box_mark mark; /* of an interpreter of its own, when the code was sent, */
	uint64_t own_us;      /* ... and what it had used when it was done */
	uint32_t timeout_ms;
	uint64_t output_max, files_bytes_max;
	uint32_t files_max;
	bool want_files, keep_events, needs_cgroup, is_pipe_stdin, is_look;
	bool returns_files; /* their bytes are in their events */

	struct run_stream streams[2];
	struct buf parts[PART_COUNT];
	uint32_t part_counts[PART_COUNT];
	uint64_t kept; /* bytes in parts */
	uint64_t frames, frame_bytes, file_bytes;
	uint64_t piece_bytes; /* written down before their frame was whole */
	uint32_t event_count;
	uint32_t file_count;
	char file_path[RUN_FILE_PATH_MAX + 1]; /* of the file whose pieces come */
	struct buf returned;                   /* its bytes, where they are to be returned */
	bool is_returned, is_return_cut;       /* its last piece has come; not all of it fits */
	uint64_t returned_total;
	bool is_files_cut, is_result_cut, is_events_cut;
	struct testimony_extras extras;

	/* While it is held: what its sandbox is to be, and what its guard is asked. */
	bool is_held;
	struct box_kind held_kind;                /* trust and data are owned copies */
	const struct runtime *held_guard_runtime; /* NULL: no guard */
	struct payload held_check;                /* owned */

	struct verdict_facts facts;
	struct verdict_testimony testimony;
	struct verdict verdict;
	struct events events;
};

/* run.c, for run_frames.c: the sandbox is not to go on. Sets RUN_ENDING and kills. */
void run_stop(struct run *run);

/* run.c: everything written so far is taken, so that what follows comes behind it. */
void run_drain(struct run *run);

/* run.c, for run_job.c: the verdict is due, from the loop. */
void run_finish(struct run *run);

/* run_facts.c: what launch has told of its end. */
void run_take_exit(struct run *run, const struct box_exit *facts);

/* run.c: one with its timer, and nothing else. */
struct run *run_blank(struct pool *pool, const char *id, const struct run_calls *calls, void *user);

/* run_held.c: it waits to be allowed. */
int run_keep_held(struct run *run, const struct run_request *request, struct err *err);
void run_held_done(struct run *run);

/* run.c: its sandbox is there, or why not; its guard has answered. */
void run_sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why);
void run_guard_answered(void *user, const struct verdict_testimony *testimony,
			const struct err *why);

/* run.c: it cannot be, which is told from the loop. */
void run_fail_later(struct run *run, const struct err *why);

/* run_begin.c: channel, pipes and walls of the head or sandbox it has. */
void run_sit(struct run *run);

/* run_begin.c: takes what its head or sandbox says from now on, and watches the time. */
void run_listen(struct run *run);

/* run_begin.c: sandbox or head there, guard content: go. */
void run_go(struct run *run);

/* run_begin.c: the first event. */
void run_tell_started(struct run *run);

/* run_job.c: what a backend must be for, to do this. */
enum backend_use run_use(const struct run_request *request);

/* run_job.c: a run that is done elsewhere: what is asked, and its beginning. */
int run_job_prepare(struct run *run, const struct run_request *request, struct err *err);
void run_job_go(struct run *run);

/* run_job.c: its verdict, in place of one that knows only what we saw. */
void run_job_finish(struct run *run);

/* run_frames.c: a fact of this type, of which there is a row; false: there is none. */
bool run_take_fact(struct run *run, const char *type, const char *value, size_t size);

/* run.c, for run_begin.c and run_resume.c. */
void run_sandbox_exited(void *user, const struct box_exit *facts, const struct err *why);
void run_timer_due(uv_timer_t *timer);
void run_channel_ended(void *user, const struct err *why);
void run_feed_closed(void *user);

/* run.c: one event, into the log or the events in memory. */
void run_tell(struct run *run, const char *type, const void *members, size_t size);

/* run_resume.c: what a successor of this viv must know of a run that is on; `done` is the
 * testimony, once it is there. Nothing without a log. */
void run_note(struct run *run, const void *done, size_t size);

/* run_files.c: a piece of a file. */
void run_take_file(struct run *run, const struct frame *frame);

/* run_files.c: the bytes of a file that were told as a JSON string of base64, whole. */
void run_job_return(struct run *run, const char *path, const char *value, size_t size);

/* run_files.c: puts the bytes of the file that came last into `members`, which end with its fact;
 * null where they are not all there. */
int run_return_file(struct run *run, const char *fact, size_t size, struct buf *members);

/* run_frames.c: it does not keep to the protocol. */
void run_break_off(struct run *run, const char *what);

/* run_frames.c: one frame of the sandbox; never trusted. */
void run_frame(void *user, const struct frame *frame);

/* run_frames.c: part of a frame: kept in the log until the rest has come. */
void run_piece(void *user, const struct frame *piece);

/* run.c: how far what a run says was taken so far. */
void run_marks(const struct run *run, uint64_t marks[3]);

/* run_frames.c: bytes of stdout (1) or stderr (2). */
void run_bytes_in(void *user, int number, const uint8_t *data, size_t size);

/* run_frames.c: a character that was never finished is told as it is. */
void run_streams_end(struct run *run);

/* result.c: members of the verdict event, from a comma on. */
int result_verdict_members(const struct run *run, struct buf *buf);

/* run_files.c: appends the bytes as base64. */
int run_put_base64(struct buf *buf, const uint8_t *data, size_t size);
