// SPDX-License-Identifier: Apache-2.0
/*
 * Router - from an HTTP request to the call of an op, and back
 *
 * Owns:    the exchange: who asks for what, its body on the way in, its one answer on the way out,
 *          and the memory of the call. The status of every kind of error is in one switch in here.
 * May not: know what an op does; nor hold more of all bodies than `held_max`.
 */
#pragma once

#include <stdint.h>

#include "api/access.h"
#include "base/buf.h"
#include "base/err.h"
#include "http/http.h"
#include "op/op.h"

struct engine;
struct router;

/* A request that is over, for metrics. */
struct router_finished {
	const char *route;  /* the pattern, a constant; "none": no such path */
	const char *method; /* a constant: of the op, or "other" */
	unsigned status;    /* 0: the client went before it was answered */
	double seconds;
};

struct router_settings {
	struct engine *engine; /* borrowed, as all of these */
	const struct access *access;
	const struct op *const *ops; /* NULL: op_table */
	uint64_t body_max;           /* bytes of one body */
	uint64_t held_max;           /* bytes of all bodies at a time; 0: 4 x body_max */
	uint64_t token_held_max;     /* of those of one token; 0: held_max */

	/* The text of GET /metrics; NULL: none. */
	int (*metrics)(void *user, struct buf *buf);
	void (*finished)(void *user, const struct router_finished *finished); /* may be NULL */
	void *user;
};

/* For http_new, with the router as their user. */
extern const struct http_calls router_calls;

struct router *router_new(const struct router_settings *settings, struct err *err);

/* ---- for the doors that stand in front of it ---- */

/* Is there a route of ours? `method` NULL: by any. */
bool router_knows(const struct router *router, const char *method, const char *path);

/* What the body of one request takes, of all bodies and of its token's. Zeroed at first. */
struct router_held {
	uint64_t size;
	struct router_share *share; /* borrowed: the router's; NULL: nobody's */
};

/* A request that somebody else answers: it counts as ours, for memory and for metrics. Between the
 * two the router stays. */
void router_enter(struct router *router);
void router_leave(struct router *router, struct router_held *held,
		  const struct router_finished *finished);

/* The body of a request of `token` (NULL: of nobody in particular) has grown to `size`.
 * ERR_TOO_LARGE, ERR_BUSY. */
int router_hold(struct router *router, struct router_held *held, const struct config_token *token,
		uint64_t size, struct err *err);

/* Who asks is known: is this one of the connections that its token may have? ERR_BUSY, EDQUOT. */
int router_own(struct http_request *request, const struct op_caller *caller, struct err *err);

/* The status of every kind of error. */
unsigned router_status(const struct err *err);

/* After http_close. It stays until the last op has answered. Accepts NULL. */
void router_close(struct router *router);
