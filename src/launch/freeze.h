// SPDX-License-Identifier: Apache-2.0
/*
 * Freeze - sandboxes that are frozen while nobody uses them
 *
 * Owns:    LAUNCH_FREEZE and its answer, which comes when the kernel reports that all processes are
 *          frozen; LAUNCH_SWEEP and its answer, which comes when only heads are left.
 * May not: freeze a sandbox in which a run is on: its deadline would go on.
 */
#pragma once

#include "launch/slots.h"

void freeze_request(struct outer *outer, const struct launch_head_ref *ref);

/* Counts the processes that do not belong to a head (ref->head 0), or ends them; if they cannot be
 * ended within 2 s, the whole sandbox is ended. */
void freeze_sweep(struct outer *outer, const struct launch_head_ref *ref);

/* The sandbox has ended: no answer is due any more. */
void freeze_done(struct outer *outer, struct slot *slot);

/* freeze_tick checks the sandboxes that are being frozen or swept; freeze_timeout returns how long
 * the loop may sleep because of them, in ms, or -1 for ever. */
void freeze_tick(struct outer *outer);
int freeze_timeout(const struct outer *outer);
