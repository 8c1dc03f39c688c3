// SPDX-License-Identifier: Apache-2.0
/*
 * Run state - the inside of a run, for run*.c and result.c alone
 *
 * Owns:    nothing of its own: run.c moves a run through its life, run_frames.c takes what its
 *          sandbox says, result.c puts it together.
 */
#pragma once

#include "session/feed.h"
#include "session/guard.h"
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
	PART_COUNT,
};

struct run_stream {
	struct buf kept; /* bytes as written, cut at the limit */
	uint64_t seen;   /* bytes as written */
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
	struct sandbox *sandbox;  /* ours from taking to sandbox_end */
	struct frame_hello hello; /* of the sandbox */
	struct feed feed;
	bool is_live; /* stdin_fd is fed */
	int stdin_fd; /* borrowed until over */
	uv_timer_t timer;
	int handles;
	bool is_freed; /* run_free was called: the last handle gives the memory back */

	char *runtime; /* owned: its name */
	const char *backend;
	enum launch_limits limits;
	uint64_t asked_ns, begun_ns, over_ns;
	uint32_t timeout_ms;
	uint64_t output_max, files_bytes_max;
	uint32_t files_max;
	bool want_files, keep_events, needs_cgroup;

	struct run_stream streams[2];
	struct buf parts[PART_COUNT];
	uint32_t part_counts[PART_COUNT];
	uint64_t kept; /* bytes in parts */
	uint64_t frames, frame_bytes, file_bytes;
	uint32_t event_count;
	uint32_t file_count;
	char file_path[RUN_FILE_PATH_MAX + 1]; /* of the file whose pieces come */
	bool is_files_cut, is_result_cut, is_events_cut;
	struct testimony_extras extras;

	struct verdict_facts facts;
	struct verdict_testimony testimony;
	struct verdict verdict;
	struct events events;
};

/* run.c, for run_frames.c: the sandbox is not to go on. Sets RUN_ENDING and kills. */
void run_stop(struct run *run);

/* run.c: everything written so far is taken, so that what follows comes behind it. */
void run_drain(struct run *run);

/* run_frames.c: one frame of the sandbox; never trusted. */
void run_frame(void *user, const struct frame *frame);

/* run_frames.c: bytes of stdout (1) or stderr (2). */
void run_bytes_in(void *user, int number, const uint8_t *data, size_t size);

/* run_frames.c: a character that was never finished is told as it is. */
void run_streams_end(struct run *run);

/* result.c: members of the verdict event, from a comma on. */
int result_verdict_members(const struct run *run, struct buf *buf);
