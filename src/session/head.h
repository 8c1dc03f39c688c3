// SPDX-License-Identifier: Apache-2.0
/*
 * Head - one interpreter of a session's sandbox, at the end of a channel of its own
 *
 * Owns:    the channel, and the state of the process: forked, placed by the backend, ready, over.
 * May not: decide what it is for: a session's head, a checkpoint and a look are all heads.
 *
 * Number 0 is the interpreter that the sandbox was made with; every other one was forked from a
 * head. The memory is freed when the owner has freed the head and the loop has closed its handle.
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
	HEAD_PLACING, /* it said HELLO; the backend checks that it is in this sandbox */
	HEAD_READY,   /* can be given a run, or asked to fork */
	HEAD_OVER,
};

/* The purpose of a new head. */
enum head_use {
	HEAD_FOR_BACK, /* a rollback, or the fork of a checkpoint or branch that was admitted */
	HEAD_FOR_LOOK,
	HEAD_FOR_CHECKPOINT,
	HEAD_FOR_BRANCH,
};

/* Why no checkpoint, branch or look fits, for clients. */
#define HEAD_NO_ROOM                                                                               \
	"the sandbox has no room for another state: drop a checkpoint or delete a branch"

struct head;

struct head_calls {
	/* The head can be used from now on. */
	void (*ready)(void *user, struct head *head);

	/* The fork failed, or something blocks it (why->kind is ERR_CONFLICT). The callee frees the
	 * head. */
	void (*failed)(void *user, struct head *head, const struct err *why);

	/* A head that was ready has ended; `facts` is NULL if there are none. The callee frees the
	 * head. */
	void (*exited)(void *user, struct head *head, const struct box_exit *facts,
		       const struct err *why);

	/* The head has answered a fork and can soon be asked for the next one. May be NULL. */
	void (*forked)(void *user, struct head *head);

	/* A number of the sandbox is free again: a fork that had none can be tried again. Frees no
	 * head. May be NULL. */
	void (*room)(void *user);

	/* The answers to head_save and head_restore. May be NULL. */
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
	bool is_dropped; /* its end was requested */
	bool is_armed;   /* the backend still watches the deadline of a run that is over */
	bool is_cut;     /* its channel ended before HELLO; its parent has not said why */
	pid_t pid;
	struct channel *channel; /* the sandbox's for number 0, else `own` */
	struct channel own;
	struct head_pipes pipes;
	bool has_pipes;       /* has its own, which the backend keeps with the head */
	struct box_mark mark; /* of the run under way */
	void (*ended)(void *user, const struct box_exit *facts); /* from head_end; NULL: none */
	void *ended_user;                                        /* borrowed until then */
	uint32_t noise;                 /* unwanted frames since the last request, */
	uint64_t noise_bytes;           /* ... and their size */
	uint64_t rest_us;               /* CPU time at the last check while at rest */
	struct head *forking;           /* borrowed: the child that this one is forking now */
	uint32_t owed;                  /* fork answers still to come that nobody waits for */
	const struct head_calls *calls; /* borrowed: static rows */
	void *user;                     /* borrowed until head_free */
	bool is_freed, has_handle;
};

/* The head of a sandbox just taken. */
struct head *head_first(struct sandbox *sandbox, const struct head_calls *calls, void *user);

/* Takes over a head of the previous daemon, whose channel was kept. Consumes the channel. Nothing
 * is read from it until head_listen, or a run, does. */
int head_adopt(struct sandbox *sandbox, uint32_t number, pid_t pid, int *take_channel,
	       const struct head_calls *calls, void *user, struct head **ret_head, struct err *err);

/* Asks `parent` (ready, nothing running in it) to fork. `pipes` NULL: as its parent's; else
 * take_ends are their writing ends, for the child. `ready` or `failed` follows. -EBUSY while an
 * earlier fork of this parent is under way, or if there is no number now but may be one soon
 * (`room`); -EMFILE if none will be. */
int head_fork(struct head *parent, bool is_look, const struct head_pipes *pipes, int *take_ends,
	      const struct head_calls *calls, void *user, struct head **ret_head, struct err *err);

/* How many numbers are left if the sandbox gets `count` more heads for this use; less than 0: they
 * do not fit.
 *
 * A rollback takes any number that is free now, else that of the head that it replaces, once that
 * has ended. A look leaves one number for rollbacks. Checkpoints and branches stay, so heads that
 * come and go do not count against them. A checkpoint leaves two numbers for looks and one for each
 * session of the sandbox: to go back, or for its first checkpoint. A branch takes two, its head and
 * its first checkpoint, and leaves three. Number 0 counts as well, so that the end of any
 * checkpoint makes room. */
int head_room(const struct sandbox *sandbox, enum head_use use, uint32_t count);

/* Is every number in use, and may one be free soon? `room` follows. */
bool head_must_wait(const struct sandbox *sandbox);

/* A number was freed: calls `room` of all heads. */
void head_tell_room(const struct sandbox *sandbox);

/* Takes a FORKED frame that came while a run was reading the channel. */
void head_forked(struct head *head, const struct frame *frame);

/* Reads the channel between runs, and drops frames that no run asked for. */
void head_listen(struct head *head);

/* Notes the counters at the beginning of a run: before its code is sent, and right after. */
void head_mark(struct head *head);
void head_count(struct head *head);

/* The operations of box.h of the same names, on this head. -EOPNOTSUPP if its box cannot. */
int head_begin(struct head *head, uint32_t timeout_ms, struct err *err);
int head_end(struct head *head, void (*ended)(void *user, const struct box_exit *facts), void *user,
	     struct err *err);
int head_interrupt(struct head *head, struct err *err);
int head_save(struct head *head, struct err *err);
int head_restore(struct head *head, struct err *err);

/* Counts the facts of a run that has ended well, without asking the backend, which learns of its
 * end from head_disarm or the next head_begin. False: only the backend can say. */
bool head_measure(struct head *head, struct box_exit *ret_facts);
void head_disarm(struct head *head);

/* Ends the head and everything it started; `exited` follows. */
void head_drop(struct head *head);

/* Calls of the box: the head was placed (or why not); its run is over; it has ended (`facts` may be
 * NULL). */
void head_up(struct head *head, const struct err *why);
void head_ended(struct head *head, const struct box_exit *facts);
void head_exited(struct head *head, const struct box_exit *facts, const struct err *why);

/* Frees the head, and ends it if it lives. No call comes after this. Accepts NULL. */
void head_free(struct head *head);
