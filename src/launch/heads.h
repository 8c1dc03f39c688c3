// SPDX-License-Identifier: Apache-2.0
/*
 * Heads - the interpreters of a sandbox: the one it was made with, and the forks of a session
 *
 * Owns:    their births, deadlines, runs and ends. Each head that is up gets exactly one
 *          LAUNCH_EXIT; by then every process that it started has ended.
 * May not: believe a pid it was given: a process is a head only if it is in the sandbox's pid
 *          namespace.
 *
 * A sandbox that never had a second head ends with its first one, as a whole (facts.c).
 */
#pragma once

#include "launch/slots.h"

/* The head of that number; NULL: no such head, or it is ending. */
struct head *heads_find(struct outer *outer, uint32_t sandbox, uint32_t id);

/* The requests BEGIN, END, DISARM, HEAD, DROP and SIGNAL. */
void heads_begin(struct outer *outer, const struct launch_begin *begin);
void heads_end_run(struct outer *outer, const struct launch_head_ref *ref);
void heads_disarm(struct outer *outer, const struct launch_head_ref *ref);
void heads_add(struct outer *outer, const struct launch_head *request, int *take_fds);
void heads_drop(struct outer *outer, const struct launch_head_ref *ref);
void heads_signal(struct outer *outer, const struct launch_head_ref *ref);

/* The measured peak of a run that has ended (where limits are measured, the inner half knows
 * it). */
void heads_ended(struct outer *outer, const struct launch_exit *measured);

/* Ends a head and everything it has started; its exit is reported when that is done. */
void heads_end(struct outer *outer, struct head *head, enum launch_cause cause);

/* The first head of a shared sandbox has ended. */
void heads_first_over(struct outer *outer, struct slot *slot, const struct launch_exit *facts);

/* The pidfd of a head is readable. */
void heads_over(struct outer *outer, uint32_t sandbox, uint32_t id);

/* The kernel killed a process of a shared sandbox for memory: ends the heads that were running. */
void heads_oom(struct outer *outer, struct slot *slot);

/* The sandbox is above its measured limit: ends the largest running head. */
void heads_above(struct outer *outer, struct slot *slot, uint64_t peak);

/* Ends all looks (throw-away forks) in every sandbox: the client that asked for them has left. */
void heads_end_looks(struct outer *outer);

/* The whole sandbox ends or has ended: reports the exit of each remaining head. */
void heads_end_all(struct outer *outer, struct slot *slot, enum launch_cause cause);

/* Looks after heads that are ending. How long the loop may sleep because of them, in ms; -1. */
void heads_tick(struct outer *outer);
int heads_timeout(const struct outer *outer);

/* Frees a head; the first one is only marked as ended. */
void heads_free(struct outer *outer, struct head *head);
