// SPDX-License-Identifier: Apache-2.0
/*
 * Router - what stands between the transport and the doors: the route table and all exchanges
 *
 * Owns:    the doors that are open, one table of all their routes, and the memory of all bodies.
 * May not: know what a door says or an op does; nor hold more of all bodies than `held_max`.
 *
 * Where a door is: `prefix` "/x" puts it there, "/" at the root, in front of our own routes with
 * the same path. `auto`, the default, puts it at /<name>, and also at the root as far as neither
 * our own routes nor another door's want the same. Two doors that the config puts at the same
 * place are an error. A door that only /v1 stands beside leaves us nothing else.
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
	const char *route;  /* the pattern, as long as the router lives; "none": no such path */
	const char *method; /* a constant: of the row, or "other" */
	unsigned status;    /* 0: the client went before it was answered */
	double seconds;
};

struct router_settings {
	struct engine *engine; /* borrowed, as all of these */
	const struct access *access;
	const struct op *const *ops;     /* NULL: op_table */
	const struct door *page;         /* NULL: there is none */
	const struct door *const *doors; /* NULL behind the last; NULL: none */
	const char *main;  /* this door is open, and at the root: what is nowhere else is refused in
			      its words; NULL: none is */
	uint64_t body_max; /* bytes of one body */
	uint64_t held_max; /* bytes of all bodies at a time; 0: 4 x body_max */
	uint64_t token_held_max; /* of those of one token; 0: held_max */

	/* The text of GET /metrics; NULL: none. */
	int (*metrics)(void *user, struct buf *buf);
	void (*finished)(void *user, const struct router_finished *finished); /* may be NULL */
	void *user;
};

/* What the body of one request takes, of all bodies and of its token's. Zeroed at first. */
struct router_held {
	uint64_t size;
	struct router_share *share; /* borrowed: the router's; NULL: nobody's */
};

/* For http_new, with the router as their user. */
extern const struct http_calls router_calls;

int router_new(const struct router_settings *settings, struct router **ret_router, struct err *err);

/* After http_close. It stays until the last exchange has ended. Accepts NULL. */
void router_close(struct router *router);
