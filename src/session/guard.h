// SPDX-License-Identifier: Apache-2.0
/*
 * Guard - the import check of a run, in a throw-away bare sandbox
 *
 * Owns:    that sandbox, and the question that is sent to it.
 * May not: be a wall: its answer is advice to agents. The code is parsed where it can harm nobody.
 */
#pragma once

#include "base/err.h"
#include "session/payload.h"
#include "session/pool.h"
#include "session/verdict.h"

struct guard;

/* Sets the backend for a check: that of its run or, if the run is done elsewhere, the best of this
 * host. */
int guard_kind(struct pool *pool, struct box_kind *kind, struct err *err);

/* Starts a check. `answer` is called once, from the loop: with the guard's testimony (`ok`, or
 * `guard` and the reason), or with NULL and why the check itself failed. Consumes the payload. */
int guard_start(struct pool *pool, const struct box_kind *kind, struct payload *take_payload,
		uint64_t nonce,
		void (*answer)(void *user, const struct verdict_testimony *testimony,
			       const struct err *why),
		void *user, struct guard **ret_guard, struct err *err);

/* No answer comes after this. The receiver of the answer must call it as well. Accepts NULL. */
void guard_free(struct guard *guard);
