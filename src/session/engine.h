// SPDX-License-Identifier: Apache-2.0
/*
 * Engine - what every op of a daemon stands on
 *
 * Owns:    nothing: it borrows the parts of the daemon, so that ops need know only this.
 * May not: hold the state of one call, session or run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include <sys/queue.h>

#include "base/err.h"
#include "policy/config.h"
#include "session/pool.h"

struct admission;
struct announcer;
struct audit;
struct conversations;
struct flight;
struct journal;
struct logs;
struct metrics;
struct packages;
struct sessions;

#define ENGINE_WARM_MAX 12

/* A kind of sandbox that is kept ready; runtime NULL: a free place. */
struct engine_warm {
	struct box_kind kind;
	char *trust, *data; /* owned: what the kind points to */
	uint64_t used_ns;
};

struct engine {
	uv_loop_t *loop;                     /* borrowed */
	const struct config *config;         /* borrowed */
	struct remote *remote;               /* borrowed; NULL: none is configured */
	struct pool *pool;                   /* borrowed; NULL: viv-launch is being started again */
	struct metrics *metrics;             /* borrowed */
	struct packages *packages;           /* borrowed: what is installed for each runtime */
	struct admission *admission;         /* borrowed */
	struct audit *audit;                 /* borrowed; NULL: nothing is written */
	struct announcer *announcer;         /* borrowed; NULL: nobody is told: op/announce.h */
	struct journal *journal;             /* borrowed; NULL: nothing outlives us */
	struct logs *logs;                   /* borrowed */
	struct sessions *sessions;           /* borrowed */
	struct conversations *conversations; /* borrowed */
	LIST_HEAD(, flight) flights;         /* runs under way: op/flight.h */
	struct engine_warm warm[ENGINE_WARM_MAX];
	bool is_stopping;    /* no new work is taken */
	uint64_t started_ms; /* since the epoch */

	/* What the prober, which really runs code, found. */
	uint64_t last_good_ms; /* on now_ns()'s clock; 0: never yet */
	struct err health_why; /* of the last failure; ERR_NONE: the last one went well */
};
