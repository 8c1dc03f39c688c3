// SPDX-License-Identifier: Apache-2.0
/*
 * Router state - the inside of the router, only for the files of api/
 *
 * Owns:    nothing.
 * May not: be included elsewhere.
 */
#pragma once

#include <sys/queue.h>

#include "api/exchange.h"
#include "api/route.h"
#include "api/router.h"

/* The bodies of one token. */
struct router_share {
	LIST_ENTRY(router_share) entry;
	const struct config_token *token; /* borrowed: from the config */
	uint64_t held;
};

/* A place where a door is. */
struct mount {
	struct opened *opened;
	TAILQ_ENTRY(mount) entry;
	char prefix[]; /* "": the root */
};

struct router {
	struct router_settings settings;
	struct route_table table;         /* owned, each row */
	TAILQ_HEAD(, opened) opened;      /* owned, each: our own API is the first */
	TAILQ_HEAD(, mount) mounts;       /* owned, each */
	struct opened *main;              /* the door of --dialect, or NULL */
	const struct op *const *ops[3];   /* op_table, native_ops, NULL */
	struct buf openapi;               /* made once */
	uint64_t held;                    /* bytes of all bodies */
	uint64_t kept;                    /* bytes of all exchanges, beside their bodies */
	LIST_HEAD(, router_share) shares; /* owned */
	uint32_t exchange_count;
	bool is_closed;
};

/* doors.c: opens the doors that the config wants, and puts all their rows into the table. */
int doors_open(struct router *router, struct err *err);
void doors_free(struct router *router);

/* Closes a door of a closed router once nobody goes through it. */
void doors_leave(const struct router *router, struct opened *opened);

/* The door that refuses a path without a row: the one below whose prefix the path is, else the door
 * of --dialect, else our own API. */
struct opened *doors_below(const struct router *router, const char *path);

/* bodies.c: the body of an exchange of `token` (NULL: none) has grown to `size`. ERR_TOO_LARGE,
 * ERR_QUOTA, ERR_BUSY. */
int bodies_hold(struct router *router, struct router_held *held, const struct config_token *token,
		uint64_t size, struct err *err);
void bodies_resize(struct router *router, struct router_held *held, uint64_t size);
void bodies_done(struct router *router);
int bodies_too_large(uint64_t max, struct err *err);

/* Counts one exchange less; the last one frees a closed router. */
void router_leave(struct router *router);

/* native.c: our own API as a door; the route that all its rows share; and its rows that are no op:
 * /metrics and /openapi.json. */
extern const struct door native_door;
extern const struct door_route native_route;
extern const struct op *const native_ops[];
