// SPDX-License-Identifier: Apache-2.0
/*
 * Wall facts - each wall in one sentence: what it stops, whether it stands here, and if not why
 *
 * Owns:    these sentences, for people.
 * May not: probe anything: the backend said which walls stand when it was opened. A sandbox whose
 *          walls do not all go up does not run.
 */
#pragma once

#include "backend/backend.h"
#include "op/object.h"

/* Adds the list "wall_facts", of the walls that this backend can put up. Without facts nothing runs
 * here now, and `why` says why not. */
void wall_facts_put(struct object *object, const struct backend_seen *seen, const char *why,
		    const char *remedy);
