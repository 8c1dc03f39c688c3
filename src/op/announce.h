// SPDX-License-Identifier: Apache-2.0
/*
 * Announce - what happens in the daemon, for whoever follows it live
 *
 * Owns:    the last ANNOUNCE_KEEP lines, their numbers, and who waits for the next one.
 * May not: keep more for a slow reader than one line, or show a line to anybody but overseers and
 *          the token it is about.
 *
 * What a slow reader missed is gone, and it is told so with `reset`. Where nobody has read for
 * ANNOUNCE_HEARD_MS there are no lines, only their numbers.
 *
 * Each announce_* may be called from anywhere in the loop: readers are woken later. Every one
 * accepts an engine without an announcer and does nothing then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/id.h"
#include "op/op.h"

#define ANNOUNCE_KEEP 1024U
#define ANNOUNCE_HEARD_MS 600000U /* lines are kept for so long after the last reader left */
#define ANNOUNCE_LINE_MAX (8U << 10)
#define ANNOUNCE_READERS_MAX 256U      /* in all */
#define ANNOUNCE_TOKEN_READERS_MAX 32U /* of one token */

struct announcer;
struct engine;
struct log;
struct session;

struct announcer *announcer_new(uv_loop_t *loop);

/* Every reader finds its end. */
void announcer_stop(struct announcer *announcer);

/* Its memory goes when the loop has closed its timers. Accepts NULL. */
void announcer_close(struct announcer *announcer);

/* ---- what happened; `token` is the name of the one it belongs to ("": none) ---- */

/* Made, renamed, or in another state. */
void announce_session(struct engine *engine, const struct session *session);
void announce_session_gone(struct engine *engine, const char *token, const char *id);

/* Held, begun, or over. */
void announce_run(struct engine *engine, struct log *log);

/* Made, or at a new version; and removed. */
void announce_conversation(struct engine *engine, const char *token, const char *id,
			   uint64_t version);
void announce_conversation_gone(struct engine *engine, const char *token, const char *id);

/* ---- readers ---- */

struct announce_reader {
	struct announcer *announcer; /* borrowed; NULL: closed */
	struct op_caller caller;     /* who reads; only what is his own to see */
	uint64_t after;              /* number of the last line that was looked at */
	bool is_lost;                /* the next line is `reset` */
	bool is_waiting;             /* found nothing: to be woken */
	bool is_due;                 /* to be woken now */
	bool is_quiet;               /* took nothing since the last keepalive */
	bool owes_keepalive;
	void (*ready)(void *user);
	void *user;
	LIST_ENTRY(announce_reader) entry;
};

/* From behind line `after` on (0: from now on). One of another start of the daemon, or too old, is
 * lost at once. -EBUSY: too many read already. */
int announce_open(struct announcer *announcer, const struct op_caller *caller, uint64_t after,
		  struct announce_reader *reader, struct err *err);
void announce_close(struct announce_reader *reader);

/* The first line of every reader. */
int announce_hello(const struct announce_reader *reader, struct buf *buf);

/* Appends the next line with its newline: 1, 0 when there is none, -ENODATA at the end. */
int announce_next(struct announce_reader *reader, struct buf *buf);
