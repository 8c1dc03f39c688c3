// SPDX-License-Identifier: Apache-2.0
/*
 * Pool - sandboxes made ahead of time, ready to take a run
 *
 * Owns:    the backends that make sandboxes here, and which sandbox is for whom. May not: know what
 * a run says to its sandbox: a sandbox is a channel, three pipes and a handle to kill it by
 * (sandbox.h).
 *
 * Refill is off the critical path: it waits while runs are busy, a few spawns at a time, and backs
 * off when spawning fails. A sandbox is made by the backend that its kind names, and by no other.
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
	uint32_t spawns_max;             /* at once; default 2 */
	uint32_t zygote_forks_max;       /* then it is replaced; default 5000 */
	uint32_t zygote_age_ms;          /* then it is replaced; default 30 minutes */
	uint32_t busy_defer_ms;          /* longest that refill waits for busy runs; default 200 */
	int launch_socket;               /* tests: speak to this instead of starting viv-launch */
	const struct backend_stay *stay; /* not NULL: helpers of backends stay; copied */
	const struct backend *const *table; /* tests: instead of backend_table */
	const struct pool_kept_calls *kept; /* told what it kept for us; a static row */
	void *kept_user;
	const struct config *config; /* borrowed: which backends, in which order; NULL: defaults */
	struct remote *remote;       /* borrowed: outlives the pool; NULL: none */
};

/* What a helper that stays had kept: after HELLO, before anything else. */
struct pool_kept_calls {
	/* A sandbox of a former viv, under the name it was kept by; the callee's, as if taken. */
	void (*sandbox)(void *user, struct sandbox *sandbox, const char *name);

	/* One of its heads, with its channel (number 0 is told without one), and its pipes and
	 * spools when it has some of its own. */
	void (*head)(void *user, struct sandbox *sandbox, uint32_t number, int32_t pid,
		     int *take_fds, size_t fd_count);

	/* That was all. */
	void (*all)(void *user);

	/* The helper is gone, and every sandbox with it. They have been told. */
	void (*lost)(void *user, const struct err *why);
};

struct pool_ticket; /* a place in the queue for a sandbox */

/* Opens the backends. The loop must run for anything to happen. */
int pool_new(uv_loop_t *loop, const struct pool_settings *settings, struct pool **ret_pool,
	     struct err *err);

/* Ends every sandbox, and the backends. No call comes after this; the loop gives the
 * memory back: run it until it has nothing left. Accepts NULL. */
void pool_close(struct pool *pool);

/* Runs the loop until every backend has said what this host gives, or failed; the first that can.
 * For programs that do one thing. */
int pool_wait_hello(struct pool *pool, const struct backend_facts **ret_facts, struct err *err);

/* What this host gives by this backend; NULL: not said yet. `backend` NULL: the first that said. */
const struct backend_facts *pool_facts(const struct pool *pool, const struct backend *backend);

/* What the choice of a backend goes by. */
struct backend_host pool_host(const struct pool *pool);

/* Process of a backend's helper; 0: none. */
pid_t pool_helper(const struct pool *pool);

uv_loop_t *pool_loop(const struct pool *pool);

/* Keeps `count` sandboxes of this kind ready from now on (0: no longer). A cold kind may be kept
 * ready as well. */
int pool_keep(struct pool *pool, const struct box_kind *kind, uint32_t count, struct err *err);

/* How many of this kind are ready now, and how many are on their way. */
void pool_ready(const struct pool *pool, const struct box_kind *kind, uint32_t *ret_ready,
		uint32_t *ret_coming);

/* Takes a sandbox: a ready one at once (`taken` is called before this returns), else the next that
 * is made. `taken` gets a sandbox that said HELLO with every wall up (now the caller's, given back
 * with sandbox_end), or NULL and why. *ret_ticket is valid until then; NULL when it came at once.
 */
int pool_take(struct pool *pool, const struct box_kind *kind,
	      void (*taken)(void *user, struct sandbox *sandbox, const struct err *why), void *user,
	      struct pool_ticket **ret_ticket, struct err *err);

/* No longer wanted: no call comes. */
void pool_untake(struct pool *pool, struct pool_ticket *ticket);

/* A taken sandbox in which nothing runs for the time being does not count as busy. */
void pool_rest(struct pool *pool, struct sandbox *sandbox, bool is_resting);

/* Of every kind kept ready: told one by one. */
void pool_each(const struct pool *pool,
	       void (*each)(void *user, const struct box_kind *kind, uint32_t keep, uint32_t ready,
			    uint32_t coming, const struct err *why),
	       void *user);

/* How many sandboxes there are, of all states. */
uint32_t pool_sandboxes(const struct pool *pool);

/* To helpers that stay: end everything, then yourself. Fails where one is gone already. */
int pool_quit(struct pool *pool, struct err *err);

/* Asks the backend how many of everything it holds and waits for the answer in the loop. For the
 * bench and tests. */
int pool_count(struct pool *pool, struct backend_counted *ret_counted, struct err *err);
