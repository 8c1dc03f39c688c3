// SPDX-License-Identifier: Apache-2.0
/*
 * Warm - which kinds of sandboxes are worth keeping ready
 *
 * Owns:    the list of kinds that were asked for lately: the pool keeps sandboxes of these.
 * May not: grow: each combination of token, policy and runtime is a kind of its own, and each takes
 *          memory.
 */
#pragma once

#include "session/engine.h"
#include "session/pool.h"

/* Notes a run of this kind, so that the next one finds a sandbox ready. */
void warm_use(struct engine *engine, const struct box_kind *kind);

/* Forgets all kinds: the pool was replaced, and keeps nothing ready yet. */
void warm_forget(struct engine *engine);
