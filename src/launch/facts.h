// SPDX-License-Identifier: Apache-2.0
/*
 * Facts - how sandboxes end, reported once and from the kernel's own figures
 *
 * Owns:    deadlines, the death of sandboxes, LAUNCH_EXIT and LAUNCH_GONE.
 * May not: believe the interpreter: a verdict rests on exit status, cgroup counts and clocks.
 */
#pragma once

#include "launch/slots.h"

/* The live sandbox of this number, or NULL. */
struct slot *facts_slot(struct outer *outer, uint32_t id);

/* Sends to the client, if there is one. */
void facts_tell(struct outer *outer, const struct launch_event *event, int *take_fds,
		size_t fd_count);
void facts_tell_err(struct outer *outer, uint32_t type, uint32_t id, const struct err *err);

/* Ends a live sandbox; its exit is reported at once, with what is known by then. */
void facts_end(struct outer *outer, struct slot *slot, enum launch_cause cause);

/* Sends a message with one number to the inner half. */
void facts_send_inner(struct outer *outer, uint32_t type, uint32_t id);

/* Adds to `facts` what the kernel counted of a head's run since BEGIN. */
void facts_fill(const struct outer *outer, const struct head *head, struct launch_exit *facts);
uint64_t facts_oom_kills(const struct outer *outer, const struct slot *slot);
uint64_t facts_cpu(const struct outer *outer, const struct head *head);
uint64_t facts_resident(pid_t pid);

/* Reports the exit of a head. */
void facts_tell_exit(struct outer *outer, struct slot *slot, const struct launch_exit *facts);

/* Takes the head out of the list of deadlines. */
void facts_disarm(struct outer *outer, struct head *head);

/* Handles a message from the inner half. */
void facts_event(struct outer *outer, struct launch_event *event, int *take_fds, size_t fd_count);

/* How long the loop may sleep, in ms; -1 for ever. */
int facts_timeout(const struct outer *outer);

/* Ends heads past their deadline, and on v1 those from which the kernel has begun to kill for
 * memory. */
void facts_tick(struct outer *outer);
