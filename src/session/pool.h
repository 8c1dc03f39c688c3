// SPDX-License-Identifier: Apache-2.0
/*
 * Pool - sandboxes made ahead of time, ready to take a run
 *
 * Owns:    the backends that make sandboxes here, and which sandbox is for whom.
 * May not: know what a run says to its sandbox: a sandbox is a channel, three pipes and a handle to
 *          kill it by (sandbox.h).
 *
 * Refill is off the critical path: it waits while runs are busy, makes a few sandboxes at a time,
 * and backs off when that fails. A sandbox is made by the backend that its kind names, and by no
 * other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "backend/backend.h"
#include "base/err.h"
#include "policy/config.h"
#include "policy/plan.h"
#include "policy/runtime.h"

struct pool;
struct remote;
struct sandbox;

/* 0 in a member means its default. */
struct pool_settings {
	uint32_t spawns_max;       /* at the same time; default 2 */
	uint32_t zygote_forks_max; /* after so many forks a zygote is replaced; default 5000 */
	uint32_t zygote_age_ms;    /* at this age a zygote is replaced; default 30 minutes */
	uint32_t busy_defer_ms;    /* longest that refill waits for busy runs; default 200 */
	const struct backend_stay *stay;    /* not NULL: helpers outlive this process; copied */
	const struct backend *const *table; /* tests: instead of backend_table */
	const struct pool_kept_calls *kept; /* called with what a helper has kept; a static row */
	void *kept_user;
	const struct config *config; /* borrowed: backends and their order; NULL: defaults */
	struct remote *remote;       /* borrowed: outlives the pool; NULL: none */
};

/* For a helper that outlived the previous viv: the sandboxes it kept. Called after HELLO, before
 * anything else. */
struct pool_kept_calls {
	/* A sandbox of the previous viv, with the name under which it was kept. It belongs to the
	 * callee, as if taken. */
	void (*sandbox)(void *user, struct sandbox *sandbox, const char *name);

	/* One of its heads, with its channel (number 0 has none), and its pipes and spools if it
	 * has its own. */
	void (*head)(void *user, struct sandbox *sandbox, uint32_t number, int32_t pid,
		     int *take_fds, size_t fd_count);

	/* Everything that was kept has been reported. */
	void (*all)(void *user);

	/* The helper is gone, and every sandbox with it. The owners of the sandboxes have been
	 * told. */
	void (*lost)(void *user, const struct err *why);
};

/* The message for requests while there is no pool. */
#define POOL_AWAY "the backend that makes sandboxes is being restarted"

struct pool_ticket; /* a place in the queue for a sandbox */

/* Opens the backends. The loop must run for anything to happen. */
int pool_new(uv_loop_t *loop, const struct pool_settings *settings, struct pool **ret_pool,
	     struct err *err);

/* Ends every sandbox, and the backends. No call comes after this. The memory is freed from the
 * loop: run it until it has nothing left to do. Accepts NULL. */
void pool_close(struct pool *pool);

/* Runs the loop until every backend has reported what this host offers, or has failed. `ret_facts`
 * are those of the first backend that has reported, even if it is `unfit`. For programs that do one
 * thing. */
int pool_wait_hello(struct pool *pool, const struct backend_facts **ret_facts, struct err *err);

/* The facts that this backend has reported; NULL: none yet. `backend` NULL: the first one
 * that has reported. */
const struct backend_facts *pool_facts(const struct pool *pool, const struct backend *backend);

/* The facts by which a backend is chosen. */
struct backend_host pool_host(const struct pool *pool);

/* The pid of this backend's helper; 0: none. */
pid_t pool_helper(struct pool *pool, const struct backend *backend);

uv_loop_t *pool_loop(const struct pool *pool);

/* Keeps `count` sandboxes of this kind ready from now on (0: no longer). A cold kind may be kept
 * ready as well. */
int pool_keep(struct pool *pool, const struct box_kind *kind, uint32_t count, struct err *err);

/* How many sandboxes of this kind are ready now, and how many are being made. */
void pool_ready(const struct pool *pool, const struct box_kind *kind, uint32_t *ret_ready,
		uint32_t *ret_coming);

/* Takes a sandbox: a ready one at once (`taken` is called before this returns), else the next one
 * made. `taken` gets a sandbox that has said HELLO with every wall up (now the caller's, who ends
 * it with sandbox_end), or NULL and why. *ret_ticket is valid until then; NULL if the sandbox came
 * at once. */
int pool_take(struct pool *pool, const struct box_kind *kind,
	      void (*taken)(void *user, struct sandbox *sandbox, const struct err *why), void *user,
	      struct pool_ticket **ret_ticket, struct err *err);

/* Gives a ticket up: no call comes. */
void pool_untake(struct pool_ticket *ticket);

/* Sets whether a taken sandbox is at rest: it does not count as busy while no code runs in it. */
void pool_rest(struct pool *pool, struct sandbox *sandbox, bool is_resting);

/* Calls `each` for every kind that is kept ready. */
void pool_each(const struct pool *pool,
	       void (*each)(void *user, const struct box_kind *kind, uint32_t keep, uint32_t ready,
			    uint32_t coming, const struct err *why),
	       void *user);

/* The number of sandboxes in all states. */
uint32_t pool_sandboxes(const struct pool *pool);

/* Tells the helpers that stay to end everything, then themselves. Fails if a helper is already
 * gone. */
int pool_quit(struct pool *pool, struct err *err);

/* Asks this backend how many objects of each kind it holds, and runs the loop until it answers. For
 * the bench, audit and tests. */
int pool_count(struct pool *pool, const struct backend *backend,
	       struct backend_counted *ret_counted, struct err *err);
