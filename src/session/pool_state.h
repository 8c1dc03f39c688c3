// SPDX-License-Identifier: Apache-2.0
/*
 * Pool state - the inside of the pool, for pool.c and shelf.c alone
 *
 * Owns:    nothing of its own: shelf.c makes, keeps and hands out sandboxes; pool.c starts and ends
 *          it all, and speaks with launch.
 */
#pragma once

#include <sys/queue.h>

#include "backend/backend.h"
#include "backend/namespace/launcher.h"
#include "session/pool.h"
#include "session/sandbox.h"
#include "backend/namespace/zygote.h"

struct pool_ticket {
	struct shelf *shelf; /* borrowed: lives while it has tickets */
	void (*taken)(void *user, struct sandbox *sandbox, const struct err *why);
	void *user;
	uint32_t attempts;
	TAILQ_ENTRY(pool_ticket) entry;
};

/* The sandboxes of one kind. */
struct shelf {
	struct pool_kind kind; /* trust and data are owned copies */
	char *trust, *data;    /* owned */
	struct lineage *lineage;
	uint32_t keep; /* how many to have ready */
	uint32_t ready_count, coming_count;
	uint32_t failures;
	struct err why; /* of the last failure */
	uint64_t retry_ns;
	TAILQ_HEAD(, sandbox) ready;
	TAILQ_HEAD(, pool_ticket) tickets;
	LIST_ENTRY(shelf) entry;
};

struct pool {
	uv_loop_t *loop; /* borrowed */
	struct pool_settings settings;
	struct launcher *launcher; /* owned */
	const struct backend *backend;
	struct zygotes *zygotes; /* owned */
	uv_timer_t refill_timer, tick_timer;
	LIST_HEAD(, shelf) shelves;
	struct sandbox *sandboxes[LAUNCH_SANDBOXES_MAX]; /* by number; NULL: free */
	struct meters meters;                            /* of all of them */
	uint32_t next_id;
	uint32_t coming_count;
	uint32_t taken_count; /* taken and not ended */
	uint32_t busy_count;  /* of these, the ones in which something runs */
	uint64_t busy_since_ns;
	bool is_working, needs_work; /* pool_work runs; and must look once more */
	bool is_lost, is_closed;
	bool is_attached; /* what launch had kept has been told: numbers are known */
	struct err why;   /* is_lost */
	bool has_counted;
	struct launch_counted counted;
	int handles;
};

/* The shelf for this kind; NULL when there is none. */
struct shelf *shelf_find(const struct pool *pool, const struct pool_kind *kind);

/* The same; made when new. */
int shelf_get(struct pool *pool, const struct pool_kind *kind, struct shelf **ret_shelf,
	      struct err *err);

void shelf_free(struct shelf *shelf);

/* Gives a ready sandbox away. */
void shelf_hand_out(struct pool *pool, struct shelf *shelf,
		    void (*taken)(void *user, struct sandbox *sandbox, const struct err *why),
		    void *user);

/* Nobody who waits here gets anything but this. */
void shelf_fail_tickets(struct shelf *shelf, const struct err *why);

/* A sandbox that is not taken is of no use: ended, and its shelf set back. */
void shelf_sandbox_failed(void *user, struct sandbox *sandbox, const struct err *why);

/* A sandbox that launch kept of a former viv, as if it had been taken here. Consumes the
 * descriptors. */
int shelf_adopt(struct pool *pool, uint32_t id, int *take_fds, size_t fd_count,
		struct sandbox **ret_sandbox);

/* Looks at all shelves and spawns what is due. */
void pool_work(struct pool *pool);

/* Looks again in so many milliseconds at the latest. */
void pool_work_later(struct pool *pool, uint64_t ms);

/* ... in a moment when nobody is busy, else when the wait has been long enough. */
void pool_work_soon(struct pool *pool);

/* A closed pool stays until the loop has closed its timers and every taker has let go. */
void pool_free_when_done(struct pool *pool);
