// SPDX-License-Identifier: Apache-2.0
/*
 * Warm - which kinds of sandboxes are worth keeping ready
 *
 * Owns:    the list of kinds that were asked for lately: the pool keeps sandboxes of these.
 * May not: grow: every token, policy and runtime is a kind of its own, and memory is not.
 */
#pragma once

#include "session/engine.h"
#include "session/pool.h"

/* Somebody runs something of this kind: the next one finds a sandbox ready. */
void warm_use(struct engine *engine, const struct box_kind *kind);

/* The pool is another one: nothing is kept ready in it yet. */
void warm_forget(struct engine *engine);
