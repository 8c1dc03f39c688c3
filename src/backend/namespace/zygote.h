// SPDX-License-Identifier: Apache-2.0
/*
 * Zygotes - template roots, and the lines of zygotes that live in them
 *
 * Owns:    which root and which zygote a sandbox is made from; when a zygote is replaced, and how
 *          long to wait after one failed to start.
 * May not: know sandboxes: it is asked for a place to spawn in, and told of each fork.
 *
 * A lineage is one (runtime, trust, root): its zygotes follow each other, the next one up before
 * the last one retires, so that addresses and hash seeds are not shared for ever.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backend/namespace/launcher.h"
#include "base/err.h"
#include "policy/runtime.h"
#include "proto/launch_msg.h"

struct zygotes;
struct lineage;

/* Where a sandbox is made. */
struct place {
	uint32_t root;
	int32_t zygote;     /* -1: cold */
	const char *python; /* borrowed: as seen inside the root */
	uint32_t shown;     /* enum plan_shown, at least */
};

/* `changed` is called when a requested root or zygote is ready, or has failed. */
struct zygotes *zygotes_new(struct launcher *launcher, uint32_t forks_max, uint32_t age_ms,
			    void (*changed)(void *user), void *user);
void zygotes_free(struct zygotes *zygotes);

/* The lineage for these; made when new. `trust` is copied, `runtime` borrowed for good. The host's
 * folder `data` (or NULL) is part of the root. */
int zygotes_lineage(struct zygotes *zygotes, const struct runtime *runtime, const char *trust,
		    const char *data, struct lineage **ret_lineage, struct err *err);

/* The lineage that zygotes_lineage last returned for these; NULL: none. Sends no request. */
struct lineage *zygotes_find(const struct zygotes *zygotes, const struct runtime *runtime,
			     const char *trust, const char *data);

/* The place to spawn in now. -EAGAIN: being made, `changed` follows. Other errors say why there is
 * none for now. */
int lineage_place(struct zygotes *zygotes, struct lineage *lineage, bool is_cold,
		  struct place *ret_place, struct err *err);

/* A sandbox was requested from this zygote (not -1). */
void zygotes_forked(struct zygotes *zygotes, int32_t zygote);

/* That sandbox is up, or never will be: only then may the zygote retire. */
void zygotes_landed(struct zygotes *zygotes, int32_t zygote);

/* ROOT_MADE, ZYGOTE_UP, ZYGOTE_DOWN; false for any other event. */
bool zygotes_event(struct zygotes *zygotes, const struct launch_event *event);

/* Replaces zygotes that are too old, gives up on those that never came up. Call it about once a
 * second. */
void zygotes_tick(struct zygotes *zygotes);
