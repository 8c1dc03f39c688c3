// SPDX-License-Identifier: Apache-2.0
/*
 * Facts - how sandboxes end, told once and from what the kernel says
 *
 * Owns:    deadlines, the death of sandboxes, LAUNCH_EXIT and LAUNCH_GONE.
 * May not: believe the interpreter: a verdict stands on exit status, cgroup counts and clocks.
 */
#pragma once

#include "launch/slots.h"

struct slot *facts_slot(struct outer *outer, uint32_t id);
void facts_tell_err(struct outer *outer, uint32_t type, uint32_t id, const struct err *err);

/* Ends a live sandbox; its exit is told at once, with what is known by now. */
void facts_end(struct outer *outer, struct slot *slot, enum launch_cause cause);

/* A message from the inner half. */
void facts_event(struct outer *outer, struct launch_event *event, int *take_fds, size_t fd_count);

/* How long the loop may sleep, in ms; -1 for ever. */
int facts_timeout(const struct outer *outer);

/* Ends what is past its deadline, and on v1 what the kernel has begun to kill for memory. */
void facts_tick(struct outer *outer);
