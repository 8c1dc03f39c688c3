// SPDX-License-Identifier: Apache-2.0
/*
 * Router state - the inside of the router, for the files of api/ alone
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

/* Where a door is. */
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
	struct opened *main;              /* or NULL */
	const struct op *const *ops[3];   /* the ops, our own routes, NULL */
	struct buf openapi;               /* made once */
	uint64_t held;                    /* bytes of all bodies */
	uint64_t kept;                    /* bytes of all exchanges, beside their bodies */
	LIST_HEAD(, router_share) shares; /* owned */
	uint32_t exchange_count;
	bool is_closed;
};

/* doors.c: opens what the config wants, and puts the rows of all into the table. */
int doors_open(struct router *router, struct err *err);
void doors_free(struct router *router);

/* Closes a door of a closed router once nobody goes through it. */
void doors_leave(const struct router *router, struct opened *opened);

/* Who refuses a path that nobody has. */
struct opened *doors_below(const struct router *router, const char *path);

/* bodies.c: the body of an exchange of `token` (NULL: of nobody in particular) has grown to `size`.
 * ERR_TOO_LARGE, ERR_BUSY. */
int bodies_hold(struct router *router, struct router_held *held, const struct config_token *token,
		uint64_t size, struct err *err);
void bodies_resize(struct router *router, struct router_held *held, uint64_t size);
void bodies_done(struct router *router);
int bodies_too_large(uint64_t max, struct err *err);

/* One exchange less. */
void router_leave(struct router *router);

/* native.c: our own API as a door; what its rows run; its routes that are no op: /metrics and
 * /openapi.json. */
extern const struct door native_door;
extern const struct door_route native_route;
extern const struct op *const native_ops[];
