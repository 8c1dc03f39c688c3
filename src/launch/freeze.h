// SPDX-License-Identifier: Apache-2.0
/*
 * Freeze - sandboxes that are stopped while nobody asks for them
 *
 * Owns:    LAUNCH_FREEZE and its answer, which comes when the kernel says that all of it stands;
 *          LAUNCH_SWEEP and its answer, which comes when nothing is left beside the heads.
 * May not: stop a sandbox in which something runs: its deadline would go on.
 */
#pragma once

#include "launch/slots.h"

void freeze_request(struct outer *outer, const struct launch_head_ref *ref);

/* Counts what is no head (ref->head 0), or ends it; what cannot be ended in 2 s costs the sandbox.
 */
void freeze_sweep(struct outer *outer, const struct launch_head_ref *ref);

/* The sandbox is gone: no answer is due any more. */
void freeze_done(struct outer *outer, struct slot *slot);

/* Looks whether those that are due stand. How long the loop may sleep because of them; -1. */
void freeze_tick(struct outer *outer);
int freeze_timeout(const struct outer *outer);
