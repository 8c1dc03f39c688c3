// SPDX-License-Identifier: Apache-2.0
/*
 * Pool - sandboxes made ahead of time, ready to take a run
 *
 * Owns:    viv-launch (through the launcher), template roots, zygotes, and which sandbox is for
 * whom. May not: know what a run says to its sandbox: a sandbox is a channel, three pipes and a
 * handle to kill it by (sandbox.h).
 *
 * Refill is off the critical path: it waits while runs are busy, a few spawns at a time, and backs
 * off when spawning fails. A zygote that is old or has forked often is replaced: the new one first,
 * then the old one retires; its sandboxes live on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "backend/namespace/launcher.h"
#include "base/err.h"
#include "policy/config.h"
#include "policy/plan.h"
#include "policy/runtime.h"
#include "proto/launch_msg.h"

struct backend;
struct backend_host;
struct pool;
struct remote;
struct sandbox;

/* What a sandbox is made of. Sandboxes are interchangeable when all of this is equal. */
struct pool_kind {
	const struct runtime *runtime; /* borrowed: lives as long as the pool */
	const char *trust;             /* borrowed for the call; zygotes never serve two */
	const char *data;              /* host folder, read-only at /data; NULL: none */
	struct plan plan;
	bool is_cold; /* exec a fresh interpreter: no zygote, nothing imported */
};

/* 0 in a member means its default. */
struct pool_settings {
	uint32_t spawns_max;              /* at once; default 2 */
	uint32_t zygote_forks_max;        /* then it is replaced; default 5000 */
	uint32_t zygote_age_ms;           /* then it is replaced; default 30 minutes */
	uint32_t busy_defer_ms;           /* longest that refill waits for busy runs; default 200 */
	int launch_socket;                /* tests: speak to this instead of starting viv-launch */
	const struct launcher_stay *stay; /* not NULL: the viv-launch that stays; copied */
	const struct pool_kept_calls *kept; /* told what it kept for us; a static row */
	void *kept_user;
	const struct config *config; /* borrowed: which backends, in which order; NULL: defaults */
	struct remote *remote;       /* borrowed: outlives the pool; NULL: none */
};

/* What a viv-launch that stays had kept: after HELLO, before anything else. */
struct pool_kept_calls {
	/* A sandbox of a former viv, under the name it was kept by; the callee's, as if taken. */
	void (*sandbox)(void *user, struct sandbox *sandbox, const char *name);

	/* One of its heads, with its channel (number 0 is told without one), and its pipes and
	 * spools when it has some of its own. */
	void (*head)(void *user, struct sandbox *sandbox, uint32_t number, int32_t pid,
		     int *take_fds, size_t fd_count);

	/* That was all. */
	void (*all)(void *user);

	/* viv-launch is gone, and every sandbox with it. They have been told. */
	void (*lost)(void *user, const struct err *why);
};

struct pool_ticket; /* a place in the queue for a sandbox */

/* Starts viv-launch. The loop must run for anything to happen. */
int pool_new(uv_loop_t *loop, const struct pool_settings *settings, struct pool **ret_pool,
	     struct err *err);

/* Ends every sandbox and zygote, and viv-launch. No call comes after this; the loop gives the
 * memory back: run it until it has nothing left. Accepts NULL. */
void pool_close(struct pool *pool);

/* Runs the loop until viv-launch has said HELLO, or fails. For programs that do one thing. */
int pool_wait_hello(struct pool *pool, const struct launch_hello **ret_hello, struct err *err);

/* What this host gives; NULL before HELLO. */
const struct launch_hello *pool_hello(const struct pool *pool);

/* How sandboxes are built here; NULL before HELLO. */
const struct backend *pool_backend(const struct pool *pool);

/* What the choice of a backend goes by. */
struct backend_host pool_host(const struct pool *pool);

pid_t pool_launch_pid(const struct pool *pool);
uv_loop_t *pool_loop(const struct pool *pool);

/* Keeps `count` sandboxes of this kind ready from now on (0: no longer). A cold kind may be kept
 * ready as well. */
int pool_keep(struct pool *pool, const struct pool_kind *kind, uint32_t count, struct err *err);

/* How many of this kind are ready now, and how many are on their way. */
void pool_ready(const struct pool *pool, const struct pool_kind *kind, uint32_t *ret_ready,
		uint32_t *ret_coming);

/* Takes a sandbox: a ready one at once (`taken` is called before this returns), else the next that
 * is made. `taken` gets a sandbox that said HELLO with every wall up (now the caller's, given back
 * with sandbox_end), or NULL and why. *ret_ticket is valid until then; NULL when it came at once.
 */
int pool_take(struct pool *pool, const struct pool_kind *kind,
	      void (*taken)(void *user, struct sandbox *sandbox, const struct err *why), void *user,
	      struct pool_ticket **ret_ticket, struct err *err);

/* No longer wanted: no call comes. */
void pool_untake(struct pool *pool, struct pool_ticket *ticket);

/* A taken sandbox in which nothing runs for the time being does not count as busy. */
void pool_rest(struct pool *pool, struct sandbox *sandbox, bool is_resting);

/* Of every kind kept ready: told one by one. */
void pool_each(const struct pool *pool,
	       void (*each)(void *user, const struct pool_kind *kind, uint32_t keep, uint32_t ready,
			    uint32_t coming, const struct err *why),
	       void *user);

/* How many sandboxes there are, of all states. */
uint32_t pool_sandboxes(const struct pool *pool);

/* To a viv-launch that stays: end everything, then yourself. */
void pool_quit(struct pool *pool);

/* Asks launch how many of everything it holds (LAUNCH_COUNT) and waits for the answer in the loop.
 * For the bench and tests. */
int pool_count(struct pool *pool, struct launch_counted *ret_counted, struct err *err);
