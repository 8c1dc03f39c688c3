// SPDX-License-Identifier: Apache-2.0
/*
 * Guard - the import check of a run, in a throw-away bare sandbox
 *
 * Owns:    that sandbox, and the question it is asked.
 * May not: be a wall: it is advice to agents. The code is parsed where it can harm nobody.
 */
#pragma once

#include "base/err.h"
#include "session/payload.h"
#include "session/pool.h"
#include "session/verdict.h"

struct guard;

/* Whose box a check is in: that of its run, or, where the run is done elsewhere, the best of this
 * host. */
int guard_kind(struct pool *pool, struct box_kind *kind, struct err *err);

/* Asks. `answer` comes from the loop, once: with what the guard says (ok, or guard and why), or
 * NULL and how the check itself failed. Consumes the payload. */
int guard_start(struct pool *pool, const struct box_kind *kind, struct payload *take_payload,
		uint64_t nonce,
		void (*answer)(void *user, const struct verdict_testimony *testimony,
			       const struct err *why),
		void *user, struct guard **ret_guard, struct err *err);

/* No answer comes after this. To be called in the answer, too. Accepts NULL. */
void guard_free(struct guard *guard);
