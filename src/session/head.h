// SPDX-License-Identifier: Apache-2.0
/*
 * Head - one interpreter of a session's sandbox, at the end of a channel of its own
 *
 * Owns:    the channel, and where the process is in its life: forked, placed by the backend, ready,
 * over. May not: decide what it is for: a session's head, a checkpoint and a look are all heads.
 *
 * Number 0 is the interpreter that the sandbox was made with; every other one was forked from a
 * head. Its memory goes when its owner has let go of it and the loop has closed its handle.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "proto/frame.h"
#include "session/channel.h"
#include "session/sandbox.h"

enum head_state {
	HEAD_COMING,  /* its parent was asked to fork */
	HEAD_PLACING, /* it said HELLO; the backend looks whether it is of this sandbox */
	HEAD_READY,   /* it may be given a run, or asked to fork */
	HEAD_OVER,
};

struct head;

struct head_calls {
	/* It may be used from now on. */
	void (*ready)(void *user, struct head *head);

	/* It will never be: what blocks the fork (why->kind is ERR_CONFLICT), or what failed. It is
	 * let go of by the callee. */
	void (*failed)(void *user, struct head *head, const struct err *why);

	/* It was ready, and ended; NULL and why when there are no facts. It is let go of by the
	 * callee. */
	void (*exited)(void *user, struct head *head, const struct box_exit *facts,
		       const struct err *why);

	/* It has answered a fork, and can be asked for the next one in a moment. May be NULL. */
	void (*forked)(void *user, struct head *head);

	/* The answers to head_end, head_save and head_restore. May be NULL. */
	void (*ended)(void *user, struct head *head, const struct box_exit *facts);
	void (*saved)(void *user, struct head *head, const struct err *why);
	void (*restored)(void *user, struct head *head, const struct err *why);
};

/* Where its output goes: the sandbox's pipes, or those of the branch it belongs to; a look has
 * none. */
struct head_pipes {
	struct stream *out, *err; /* borrowed: from the sandbox or the session, which live longer */
};

struct head {
	struct sandbox *sandbox; /* borrowed: lives as long as it has heads */
	uint32_t number;
	uint32_t parent; /* number of the head it was forked from */
	enum head_state state;
	bool is_look;
	bool is_dropped; /* its end was asked for */
	bool is_armed;   /* the deadline of a run that is over is still watched */
	bool is_cut;     /* its channel ended before its HELLO; its parent has not said why */
	pid_t pid;
	struct channel *channel; /* the sandbox's for number 0, else `own` */
	struct channel own;
	struct head_pipes pipes;
	bool has_pipes;                 /* not the sandbox's: they are kept with the head */
	struct box_mark mark;           /* of the run that is on */
	uint32_t noise;                 /* frames that nobody wanted since something was asked, */
	uint64_t noise_bytes;           /* ... and their size */
	uint64_t rest_us;               /* cpu time it had when it was last looked at, at rest */
	struct head *forking;           /* borrowed: the child that this one is forking now */
	uint32_t owed;                  /* answers to forks that nobody waits for any more */
	const struct head_calls *calls; /* borrowed: static rows */
	void *user;                     /* borrowed until head_free */
	bool is_freed, has_handle;
};

/* The head of a sandbox just taken. */
struct head *head_first(struct sandbox *sandbox, const struct head_calls *calls, void *user);

/* One that a former viv had: its channel was kept. Consumes the channel. Nothing is read
 * from it until head_listen, or a run, does. */
int head_adopt(struct sandbox *sandbox, uint32_t number, pid_t pid, int *take_channel,
	       const struct head_calls *calls, void *user, struct head **ret_head, struct err *err);

/* Asks `parent` (ready, nothing running in it) to fork. `pipes` NULL: as its parent's; else
 * take_ends are their writing ends, for the child. `ready` or `failed` follows. -EBUSY while an
 * earlier fork of this parent is on its way, -ENOSPC when the sandbox has its most heads. */
int head_fork(struct head *parent, bool is_look, const struct head_pipes *pipes, int *take_ends,
	      const struct head_calls *calls, void *user, struct head **ret_head, struct err *err);

/* FORKED came while a run was reading its channel. */
void head_forked(struct head *head, const struct frame *frame);

/* Nobody reads its channel but us: frames that no run asked for end up here. */
void head_listen(struct head *head);

/* A run is about to begin: its facts are counted from here; and, when its code is on its way, the
 * rest of what they are counted from. */
void head_mark(struct head *head);
void head_count(struct head *head);

/* What box.h has under these names, of this head. -EOPNOTSUPP where its box cannot. */
int head_begin(struct head *head, uint32_t timeout_ms, struct err *err);
int head_end(struct head *head, struct err *err);
int head_interrupt(struct head *head, struct err *err);
int head_save(struct head *head, struct err *err);
int head_restore(struct head *head, struct err *err);

/* The facts of its run that has ended well, counted here. The backend does not know yet that it is
 * over: head_disarm, or the next head_begin, tells. False: only the backend can say. */
bool head_measure(struct head *head, struct box_exit *ret_facts);
void head_disarm(struct head *head);

/* Ends it and all it started; `exited` follows. */
void head_drop(struct head *head);

/* What its box tells of it: it has a place (or why not); its run is over; it ended, `facts` NULL
 * where there are none. */
void head_up(struct head *head, const struct err *why);
void head_ended(struct head *head, const struct box_exit *facts);
void head_exited(struct head *head, const struct box_exit *facts, const struct err *why);

/* No call comes after this; it is dropped where it lives. Accepts NULL. */
void head_free(struct head *head);
