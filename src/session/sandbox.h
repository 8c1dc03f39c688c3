// SPDX-License-Identifier: Apache-2.0
/*
 * Sandbox - what viv holds of one walled-in process tree
 *
 * Owns:    its channel, its pipes, and where it is in its life: coming, ready, taken, over.
 * May not: decide: the pool makes and hands out sandboxes, a run uses one.
 *
 * The memory goes when three things are true: nobody holds it, nothing of its box is left, and the
 * loop has closed its handles.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>

#include "backend/backend.h"
#include "proto/frame.h"
#include "session/channel.h"
#include "session/stream.h"

#define SANDBOX_STARTUP_MAX 1024 /* bytes kept of what it prints before HELLO */

enum sandbox_state {
	SANDBOX_COMING, /* asked for; has not said HELLO */
	SANDBOX_READY,  /* waits in the pool */
	SANDBOX_TAKEN,  /* somebody's */
	SANDBOX_OVER,   /* nobody's any more; going */
};

struct head;
struct sandbox;

/* What is kept of a sandbox by its backend, in this order: viv's ends, for the next viv. */
enum sandbox_kept {
	SANDBOX_KEPT_CHANNEL,
	SANDBOX_KEPT_OUT,
	SANDBOX_KEPT_ERR,
	SANDBOX_KEPT_OUT_SPOOL,
	SANDBOX_KEPT_ERR_SPOOL,
	SANDBOX_KEPT_IN, /* may be missing */
	SANDBOX_KEPT_COUNT,
};

/* What its maker is told. */
struct sandbox_calls {
	/* HELLO came with every wall up: it is ready. */
	void (*ready)(void *user, struct sandbox *sandbox);

	/* It will not be, or no longer is, of use: died or broke the protocol before it was taken.
	 */
	void (*failed)(void *user, struct sandbox *sandbox, const struct err *why);

	/* A taken one was ended: its run is over. */
	void (*ended)(void *user, struct sandbox *sandbox);

	/* Its number is free again. The last call. */
	void (*gone)(void *user, struct sandbox *sandbox);
};

struct sandbox {
	uint32_t id;
	enum sandbox_state state;
	struct box *box;               /* borrowed from its backend until it is gone; then NULL */
	const struct backend *backend; /* borrowed: a static row */
	const struct sandbox_calls *calls;
	void *user;        /* borrowed: the pool */
	void *shelf;       /* borrowed: the pool's, for its own use */
	uint64_t asked_ns; /* when it was asked for */
	struct frame_hello hello;

	struct channel channel;
	struct stream out, err;
	int in;                       /* owned: the writing end of its stdin; -1: closed */
	char kept_name[BOX_NAME_MAX]; /* by which its backend keeps it; "": it does not */

	/* For whoever took it: the facts of its end, once; NULL and why when there are none. With
	 * heads it is told when all of it is gone. */
	void (*exited)(void *taker, const struct box_exit *facts, const struct err *why);
	void *taker; /* borrowed until sandbox_end */

	/* The answer to sandbox_freeze, for a session that asked; NULL: nobody did. */
	void (*frozen)(void *taker, const struct err *why);

	/* The answer to sandbox_sweep, for who asked; NULL: nobody did. Until it comes nothing
	 * begins and nothing forks in there: a process that is no head yet would be ended, too. */
	void (*swept)(void *user, struct sandbox *sandbox, uint64_t left);
	void *sweeper; /* borrowed: what outlives the sandbox */

	/* A session's: its interpreters by number, NULL where there is none (head.h), and the
	 * numbers that its backend has not given back. */
	struct head *heads[BOX_HEADS_MAX];
	uint32_t head_bits;
	uint32_t sessions; /* that share it: a session and its branches */
	uint64_t lent;     /* bytes of our memory that it keeps (lent.h) */
	bool is_resting;   /* nobody runs anything in it */
	bool is_frozen;

	bool is_killed;    /* its end was asked for */
	bool is_exited;    /* its end was told, or will not be any more */
	bool is_gone;      /* nothing of it is left */
	bool is_ending;    /* nothing in it is alive: its heads are being told */
	int handles;       /* open libuv handles */
	uv_timer_t closer; /* closes them, and what they are for, after sandbox_end */
	char startup[SANDBOX_STARTUP_MAX];
	size_t startup_size;
	TAILQ_ENTRY(sandbox) entry;  /* the pool's: among those that are ready */
	LIST_ENTRY(sandbox) in_pool; /* ... among all */
};

/* Makes pipes and channel and asks the backend for the rest. `is_spooled`: its output can be taken
 * up by another viv. -EAGAIN: not yet (backend.h). */
int sandbox_new(uv_loop_t *loop, struct backend_instance *instance, const struct box_kind *kind,
		bool is_spooled, const struct sandbox_calls *calls, void *user,
		struct sandbox **ret_sandbox, struct err *err);

/* One that a former viv had taken, from what its backend kept of it. Consumes the descriptors. */
int sandbox_adopt(uv_loop_t *loop, struct box *box, int take_fds[SANDBOX_KEPT_COUNT],
		  const struct sandbox_calls *calls, void *user, struct sandbox **ret_sandbox,
		  struct err *err);

/* The calls of every box that a sandbox has. */
extern const struct box_calls sandbox_box_calls;

/* The backend keeps it, under this name, should we die. Nothing where it keeps none. */
int sandbox_keep(struct sandbox *sandbox, const char *name, struct err *err);

/* Opens its meter, where it has one. */
int sandbox_meter(struct sandbox *sandbox, struct err *err);

/* ... with this stdin (-1: none any more) beside the rest; not where it is not kept at all. */
int sandbox_keep_stdin(struct sandbox *sandbox, int fd, struct err *err);

/* Asks how many processes are left in it beside its heads; `kills`: they are ended. `swept` tells,
 * unless the sandbox ends before. */
int sandbox_sweep(struct sandbox *sandbox, bool kills,
		  void (*swept)(void *user, struct sandbox *sandbox, uint64_t left), void *user,
		  struct err *err);

/* Stops all of it, or lets it go on; `frozen` tells. */
int sandbox_freeze(struct sandbox *sandbox, bool is_on,
		   void (*frozen)(void *taker, const struct err *why), void *taker,
		   struct err *err);

/* Ends a head that its backend has and we have not. */
void sandbox_drop_head(struct sandbox *sandbox, uint32_t number);

/* Takes a ready one. `exited` tells of its end. */
void sandbox_take(struct sandbox *sandbox,
		  void (*exited)(void *taker, const struct box_exit *facts, const struct err *why),
		  void *taker);

/* User code starts now; its backend ends it after so long. */
int sandbox_begin(struct sandbox *sandbox, uint32_t timeout_ms, struct err *err);

/* Ends everything in it. `exited` follows unless it has come already. */
void sandbox_kill(struct sandbox *sandbox);

/* Gives it up: killed if it is not, closed, no call to the taker any more. Accepts NULL. */
void sandbox_end(struct sandbox *sandbox);

/* Its backend is gone, and every sandbox with it. */
void sandbox_lost(struct sandbox *sandbox, const struct err *why);
