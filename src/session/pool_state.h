// SPDX-License-Identifier: Apache-2.0
/*
 * Pool state - the inside of the pool, for pool.c and shelf.c alone
 *
 * Owns:    nothing of its own: shelf.c makes, keeps and hands out sandboxes; pool.c opens and
 *          closes the pool, and takes the calls of the backends.
 */
#pragma once

#include <sys/queue.h>

#include "backend/backend.h"
#include "session/pool.h"
#include "session/sandbox.h"

struct pool_ticket {
	struct shelf *shelf; /* borrowed: lives while it has tickets */
	void (*taken)(void *user, struct sandbox *sandbox, const struct err *why);
	void *user;
	uint32_t attempts;
	TAILQ_ENTRY(pool_ticket) entry;
};

#define POOL_BACKENDS_MAX 8

/* A backend that is open. */
struct pool_backend {
	struct pool *pool;
	struct backend_instance *instance; /* owned; NULL: opening failed */
	struct backend_seen seen;          /* its row, and what it has reported */
	bool is_lost;
	bool is_attached; /* its helper has reported what it kept: numbers are known */
	struct err why;   /* is_lost */
};

/* The sandboxes of one kind. */
struct shelf {
	struct box_kind kind;       /* trust and data are owned copies */
	char *trust, *data;         /* owned */
	struct pool_backend *maker; /* borrowed: the pool's */
	uint32_t keep;              /* how many to have ready */
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
	struct pool_backend backends[POOL_BACKENDS_MAX];
	size_t backend_count;
	struct backend_seen seen[POOL_BACKENDS_MAX]; /* copies, for the choice */
	uv_timer_t refill_timer, tick_timer;
	LIST_HEAD(, shelf) shelves;
	LIST_HEAD(, sandbox) sandboxes; /* all that are not gone */
	uint32_t coming_count;
	uint32_t taken_count; /* taken and not ended */
	uint32_t busy_count;  /* of these, those in which code runs */
	uint64_t busy_since_ns;
	bool is_working, needs_work; /* pool_work is running; it must run once more */
	bool is_closed;
	bool has_counted;
	struct backend_counted counted;
	int handles;
};

/* The shelf for this kind; NULL if there is none. */
struct shelf *shelf_find(const struct pool *pool, const struct box_kind *kind);

/* The same; makes the shelf if there is none. */
int shelf_get(struct pool *pool, const struct box_kind *kind, struct shelf **ret_shelf,
	      struct err *err);

void shelf_free(struct shelf *shelf);

/* Gives a ready sandbox away. */
void shelf_hand_out(struct pool *pool, struct shelf *shelf,
		    void (*taken)(void *user, struct sandbox *sandbox, const struct err *why),
		    void *user);

/* Fails all waiting tickets with this error. */
void shelf_fail_tickets(struct shelf *shelf, const struct err *why);

/* A sandbox failed before it was taken: ends it, and delays the next attempt of its shelf. */
void shelf_sandbox_failed(void *user, struct sandbox *sandbox, const struct err *why);

/* Takes over a box of the previous viv, as if it had been taken here. Consumes the descriptors. */
int shelf_adopt(struct pool *pool, struct box *box, int *take_fds, size_t fd_count,
		struct sandbox **ret_sandbox);

/* The open backend with this row; NULL: none. */
struct pool_backend *pool_maker(struct pool *pool, const struct backend *backend);

/* Goes through all shelves and starts the sandboxes that are due. */
void pool_work(struct pool *pool);

/* Schedules pool_work in so many milliseconds at the latest. */
void pool_work_later(struct pool *pool, uint64_t ms);

/* Schedules pool_work: soon if no run is busy, else when refill has waited long enough. */
void pool_work_soon(struct pool *pool);

/* A closed pool stays until the loop has closed its timers and every taker has let go. */
void pool_free_when_done(struct pool *pool);
