// SPDX-License-Identifier: Apache-2.0
/*
 * Sandbox - what viv holds of one walled-in process tree
 *
 * Owns:    its channel, its pipes, and its state: coming, ready, taken, over.
 * May not: decide: the pool makes and hands out sandboxes, a run uses one.
 *
 * The memory is freed when three things are true: nobody holds the sandbox, nothing of its box is
 * left, and the loop has closed its handles.
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

#define SANDBOX_STARTUP_MAX 1024 /* bytes kept of its output before HELLO */

enum sandbox_state {
	SANDBOX_COMING, /* requested; has not said HELLO */
	SANDBOX_READY,  /* waits in the pool */
	SANDBOX_TAKEN,  /* in use */
	SANDBOX_OVER,   /* no longer in use; is being removed */
};

struct head;
struct sandbox;

/* The descriptors of a sandbox that its backend keeps for the next viv, in this order: viv's
 * ends. */
enum sandbox_kept {
	SANDBOX_KEPT_CHANNEL,
	SANDBOX_KEPT_OUT,
	SANDBOX_KEPT_ERR,
	SANDBOX_KEPT_OUT_SPOOL,
	SANDBOX_KEPT_ERR_SPOOL,
	SANDBOX_KEPT_IN,      /* may be absent, */
	SANDBOX_KEPT_PAYLOAD, /* ... and so may this one */
	SANDBOX_KEPT_COUNT,
};

/* Calls to the maker of a sandbox. */
struct sandbox_calls {
	/* The sandbox is ready: HELLO came with every wall up. */
	void (*ready)(void *user, struct sandbox *sandbox);

	/* The sandbox died or broke the protocol before it was taken. */
	void (*failed)(void *user, struct sandbox *sandbox, const struct err *why);

	/* A taken sandbox was ended: its run is over. */
	void (*ended)(void *user, struct sandbox *sandbox);

	/* The sandbox's number is free again. The last call. */
	void (*gone)(void *user, struct sandbox *sandbox);
};

struct sandbox {
	uint32_t id;
	enum sandbox_state state;
	struct box *box;               /* borrowed from its backend; NULL once it is gone */
	const struct backend *backend; /* borrowed: a static row */
	const struct sandbox_calls *calls;
	void *user;        /* borrowed: the pool */
	void *shelf;       /* borrowed: the pool's, for its own use */
	uint64_t asked_ns; /* when it was requested */
	struct frame_hello hello;

	struct channel channel;
	struct stream out, err;
	int in;                       /* owned: the writing end of its stdin; -1: closed */
	char kept_name[BOX_NAME_MAX]; /* under which its backend keeps it; "": not kept */

	/* Called once when the sandbox has ended: with the facts, or NULL and why there are none.
	 * With heads, called when the whole sandbox is gone. */
	void (*exited)(void *taker, const struct box_exit *facts, const struct err *why);
	void *taker; /* borrowed until sandbox_end */

	/* The answer to sandbox_freeze; NULL: no request is open. */
	void (*frozen)(void *taker, const struct err *why);

	/* The answer to sandbox_sweep; NULL: no request is open. Until it comes, no run begins and
	 * no head forks in the sandbox: a process that is not a head yet would be ended, too. */
	void (*swept)(void *user, struct sandbox *sandbox, uint64_t left);
	void *sweeper; /* borrowed; outlives the sandbox */

	/* For a session: its interpreters by number, or NULL (head.h), and the numbers that the
	 * backend has not freed yet. */
	struct head *heads[BOX_HEADS_MAX];
	uint32_t head_bits;
	uint32_t sessions; /* how many share it: a session and its branches */
	int payload;       /* owned: of the run under way, if it is kept; -1: none */
	uint64_t lent;     /* bytes of our memory that it keeps (lent.h) */
	bool is_resting;   /* no code runs in it */
	bool is_frozen;

	bool is_killed;    /* its end was asked for */
	bool is_exited;    /* its end was reported, or never will be */
	bool is_gone;      /* nothing of it is left */
	bool is_ending;    /* nothing in it is alive; the owners of its heads are being told */
	int handles;       /* open libuv handles */
	uv_timer_t closer; /* closes them and their descriptors after sandbox_end */
	char startup[SANDBOX_STARTUP_MAX];
	size_t startup_size;
	TAILQ_ENTRY(sandbox) entry;  /* the pool's: among those that are ready */
	LIST_ENTRY(sandbox) in_pool; /* ... among all */
};

/* Makes pipes and channel and asks the backend for the rest. `is_spooled`: the next viv can
 * continue to read its output. -EAGAIN: not yet (backend.h). */
int sandbox_new(uv_loop_t *loop, struct backend_instance *instance, const struct box_kind *kind,
		bool is_spooled, const struct sandbox_calls *calls, void *user,
		struct sandbox **ret_sandbox, struct err *err);

/* Takes over a sandbox of the previous daemon from what its backend kept. Consumes the
 * descriptors. */
int sandbox_adopt(uv_loop_t *loop, struct box *box, int take_fds[SANDBOX_KEPT_COUNT],
		  const struct sandbox_calls *calls, void *user, struct sandbox **ret_sandbox,
		  struct err *err);

/* The calls of every box that a sandbox has. */
extern const struct box_calls sandbox_box_calls;

/* Asks the backend to keep the sandbox under this name for the next daemon. Does nothing if the
 * backend cannot. */
int sandbox_keep(struct sandbox *sandbox, const char *name, struct err *err);

/* Opens its meter, if it has one. */
int sandbox_meter(struct sandbox *sandbox, struct err *err);

/* Adds this stdin (-1: removes it) to what is kept, if the sandbox is kept. */
int sandbox_keep_stdin(struct sandbox *sandbox, int fd, struct err *err);

/* Adds this payload to what is kept, so that the next daemon can take back what was lent to
 * a run. */
int sandbox_keep_payload(struct sandbox *sandbox, int fd, struct err *err);

/* Asks how many processes there are besides the heads, and ends them if `kills` is set. `swept`
 * gets the answer, unless the sandbox ends first. */
int sandbox_sweep(struct sandbox *sandbox, bool kills,
		  void (*swept)(void *user, struct sandbox *sandbox, uint64_t left), void *user,
		  struct err *err);

/* Freezes or thaws the sandbox; `frozen` gets the answer. */
int sandbox_freeze(struct sandbox *sandbox, bool is_on,
		   void (*frozen)(void *taker, const struct err *why), void *taker,
		   struct err *err);

/* Ends a head that the backend has kept and no session claims. */
void sandbox_drop_head(struct sandbox *sandbox, uint32_t number);

/* Takes a ready sandbox. `exited` reports its end. */
void sandbox_take(struct sandbox *sandbox,
		  void (*exited)(void *taker, const struct box_exit *facts, const struct err *why),
		  void *taker);

/* User code starts now; the backend ends it after `timeout_ms`. */
int sandbox_begin(struct sandbox *sandbox, uint32_t timeout_ms, struct err *err);

/* Ends everything in it. `exited` follows unless it has come already. */
void sandbox_kill(struct sandbox *sandbox);

/* Kills and closes the sandbox. No call comes to the taker after this. Accepts NULL. */
void sandbox_end(struct sandbox *sandbox);

/* The backend is gone, and every sandbox with it. */
void sandbox_lost(struct sandbox *sandbox, const struct err *why);
