// SPDX-License-Identifier: Apache-2.0
/*
 * Heads - the interpreters of a sandbox: the one it was made with, and the forks of a session
 *
 * Owns:    their births, deadlines, runs and ends. Each head that is up gets one LAUNCH_EXIT, and
 *          when it is sent nothing that the head has started runs any more.
 * May not: believe a number it was handed: a head's process is in the pid namespace of its sandbox,
 *          or it is none.
 *
 * A sandbox that never had a second head ends with its first one, as a whole (facts.c).
 */
#pragma once

#include "launch/slots.h"

/* NULL: there is none of that number, or it is ending. */
struct head *heads_find(struct outer *outer, uint32_t sandbox, uint32_t id);

/* The requests BEGIN, END, DISARM, HEAD, DROP and SIGNAL. */
void heads_begin(struct outer *outer, const struct launch_begin *begin);
void heads_end_run(struct outer *outer, const struct launch_head_ref *ref);
void heads_disarm(struct outer *outer, const struct launch_head_ref *ref);
void heads_add(struct outer *outer, const struct launch_head *request, int *take_fds);
void heads_drop(struct outer *outer, const struct launch_head_ref *ref);
void heads_signal(struct outer *outer, const struct launch_head_ref *ref);

/* The measured peak of a run that was ended (measured limits: the inner half knows). */
void heads_ended(struct outer *outer, const struct launch_exit *measured);

/* Ends a head and what it has started; told when that is done. */
void heads_end(struct outer *outer, struct head *head, enum launch_cause cause);

/* The first head of a shared sandbox is over. */
void heads_first_over(struct outer *outer, struct slot *slot, const struct launch_exit *facts);

/* The pidfd of a head is readable. */
void heads_over(struct outer *outer, uint32_t sandbox, uint32_t id);

/* The kernel took a process of a shared sandbox for memory: ends the heads that ran. */
void heads_oom(struct outer *outer, struct slot *slot);

/* The sandbox is above its measured limit: ends the largest head that runs. */
void heads_above(struct outer *outer, struct slot *slot, uint64_t peak);

/* Ends what is a look in every sandbox: who asked is gone. */
void heads_end_looks(struct outer *outer);

/* The whole sandbox ends or has ended: tells the exit of each head that is left. */
void heads_end_all(struct outer *outer, struct slot *slot, enum launch_cause cause);

/* Looks after heads that are ending. How long the loop may sleep because of them, in ms; -1. */
void heads_tick(struct outer *outer);
int heads_timeout(const struct outer *outer);

/* Forgets a head; the first one is only marked as over. */
void heads_free(struct outer *outer, struct head *head);
