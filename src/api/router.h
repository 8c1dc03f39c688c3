// SPDX-License-Identifier: Apache-2.0
/*
 * Router - what is between the transport and the doors: the route table and all exchanges
 *
 * Owns:    the doors that are open, one table of all their routes, and the memory of all bodies.
 * May not: know what a door says or an op does, or hold more than `held_max` bytes of bodies.
 *
 * Where a door is: `prefix` "/x" puts it there, "/" at the root, in front of our own routes with
 * the same path. `auto`, the default, puts it at /<name>, and also at the root, except for paths
 * that our own API or another door has. Two doors that the config puts at the same path are an
 * error. Beside an exclusive door, only /v1 is left of our own routes.
 */
#pragma once

#include <stdint.h>

#include "api/access.h"
#include "api/door.h"
#include "base/buf.h"
#include "base/err.h"
#include "http/http.h"
#include "op/op.h"

struct engine;
struct router;
struct router_share;

/* A request that is over, for metrics. */
struct router_finished {
	const char *route;  /* the pattern, valid as long as the router; "none": no such path */
	const char *method; /* a constant: of the row, or "other" */
	unsigned status;    /* 0: the client left before it was answered */
	double seconds;
};

struct router_settings {
	struct engine *engine; /* borrowed, like all pointers here */
	const struct access *access;
	const struct op *const *ops;     /* NULL: op_table */
	const struct door *page;         /* NULL: there is none */
	const struct door *const *doors; /* NULL-terminated; NULL: none */
	const char *main;  /* the door at the root, which also refuses unknown paths; NULL: none */
	uint64_t body_max; /* bytes of one body */
	uint64_t held_max; /* bytes of all bodies at a time; 0: 4 x body_max */
	uint64_t token_held_max; /* of those of one token; 0: held_max */

	/* The text of GET /metrics; NULL: none. */
	int (*metrics)(void *user, struct buf *buf);
	void (*finished)(void *user, const struct router_finished *finished); /* may be NULL */
	void *user;
};

/* The memory that one request's body takes of the room for all bodies and of its token's. Zero it
 * first. */
struct router_held {
	uint64_t size;
	struct router_share *share; /* borrowed: from the router; NULL: no token */
};

/* Callbacks for http_new, with the router as their user. */
extern const struct http_calls router_calls;

int router_new(const struct router_settings *settings, struct router **ret_router, struct err *err);

/* Call it after http_close. The router stays until the last exchange has ended. Accepts NULL. */
void router_close(struct router *router);
