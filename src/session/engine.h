// SPDX-License-Identifier: Apache-2.0
/*
 * Engine - the parts of the daemon that ops use
 *
 * Owns:    nothing: it borrows the parts of the daemon, so that ops need to know only this struct.
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
struct served_run;
struct journal;
struct logs;
struct metrics;
struct packages;
struct sessions;

#define ENGINE_WARM_MAX 12

/* A kind of sandbox that is kept ready; kind.runtime NULL: this entry is free. */
struct engine_warm {
	struct box_kind kind;
	char *trust, *data; /* owned: the strings that `kind` points to */
	uint64_t used_ns;
};

struct engine {
	uv_loop_t *loop;                     /* borrowed */
	const struct config *config;         /* borrowed */
	struct remote *remote;               /* borrowed; NULL: none is configured */
	struct pool *pool;                   /* borrowed; NULL: its backend is being restarted */
	struct metrics *metrics;             /* borrowed */
	struct packages *packages;           /* borrowed: what is installed for each runtime */
	struct admission *admission;         /* borrowed */
	struct audit *audit;                 /* borrowed; NULL: nothing is written */
	struct announcer *announcer;         /* borrowed; NULL: nobody is told: op/announce.h */
	struct journal *journal;             /* borrowed; NULL: nothing outlives this process */
	struct logs *logs;                   /* borrowed */
	struct sessions *sessions;           /* borrowed */
	struct conversations *conversations; /* borrowed */
	LIST_HEAD(, served_run) runs;        /* under way: op/op_run.h */
	struct engine_warm warm[ENGINE_WARM_MAX];
	bool is_stopping;    /* no new work is taken */
	uint64_t started_ms; /* since the epoch */

	/* The prober's findings, from really running code. */
	uint64_t last_good_ms; /* on the clock of now_ns(); 0: never yet */
	struct err health_why; /* of the last failure; ERR_NONE: the last probe succeeded */
};
