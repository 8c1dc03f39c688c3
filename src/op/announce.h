// SPDX-License-Identifier: Apache-2.0
/*
 * Announce - the live feed of what happens in the daemon
 *
 * Owns:    the last ANNOUNCE_KEEP lines, their numbers, and the readers that wait for the next one.
 * May not: buffer more than one line for a slow reader, or show a line to anybody but overseers and
 *          the token it is about.
 *
 * A reader that falls too far behind gets `reset` in place of the lines it missed. After
 * ANNOUNCE_HEARD_MS without a reader, lines are only numbered, not made.
 *
 * Each announce_* function may be called from anywhere in the loop, since readers are woken later,
 * and does nothing for an engine without an announcer.
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
#define ANNOUNCE_HEARD_MS 600000U /* lines are made for this long after the last reader left */
#define ANNOUNCE_LINE_MAX (8U << 10)
#define ANNOUNCE_READERS_MAX 256U      /* of all tokens */
#define ANNOUNCE_TOKEN_READERS_MAX 32U /* of one token */

struct announcer;
struct engine;
struct log;
struct session;

struct announcer *announcer_new(uv_loop_t *loop);

/* Ends the stream of every reader. */
void announcer_stop(struct announcer *announcer);

/* Its memory is freed once the loop has closed its timers. Accepts NULL. */
void announcer_close(struct announcer *announcer);

/* ---- what happened; `token` names the token that it belongs to ("": none) ---- */

/* The session was made or renamed, or its state changed. */
void announce_session(struct engine *engine, const struct session *session);
void announce_session_gone(struct engine *engine, const char *token, const char *id);

/* The run was held, has begun, or is over. */
void announce_run(struct engine *engine, struct log *log);

/* The conversation was made or has a new version; or it was removed. */
void announce_conversation(struct engine *engine, const char *token, const char *id,
			   uint64_t version);
void announce_conversation_gone(struct engine *engine, const char *token, const char *id);

/* ---- readers ---- */

struct announce_reader {
	struct announcer *announcer; /* borrowed; NULL: closed */
	struct op_caller caller;     /* reads only lines that this caller may see */
	uint64_t after;              /* number of the last line that was looked at */
	bool is_lost;                /* the next line is `reset` */
	bool is_waiting;             /* found no line: wake it with the next one */
	bool is_due;                 /* wake it in this round */
	bool is_quiet;               /* took no line since the keepalive timer last fired */
	bool owes_keepalive;
	void (*ready)(void *user);
	void *user;
	LIST_ENTRY(announce_reader) entry;
};

/* Reads the lines after number `after` (0: only new ones). If that number is too old, or from
 * another start of the daemon, the first line after the hello is `reset`. -EBUSY: there are too
 * many readers. */
int announce_open(struct announcer *announcer, const struct op_caller *caller, uint64_t after,
		  struct announce_reader *reader, struct err *err);
void announce_close(struct announce_reader *reader);

/* Appends the first line that every reader gets. */
int announce_hello(const struct announce_reader *reader, struct buf *buf);

/* Appends the next line with its newline: 1, 0 when there is none, -ENODATA at the end. */
int announce_next(struct announce_reader *reader, struct buf *buf);
