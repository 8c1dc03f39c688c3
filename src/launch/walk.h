// SPDX-License-Identifier: Apache-2.0
/*
 * Walk - which processes of a sandbox belong to which of its heads
 *
 * Owns:    reading /proc for that, and signalling the processes that a head has started.
 * May not: signal a process that it has not seen in that very sandbox, by number and time of birth.
 *
 * A process belongs to the nearest head among its ancestors. An orphan (after a double fork) is the
 * child of the sandbox's init: it belongs to the head that was running when it
 * was born. (A cgroup for each head would say the same, but moving a process into one makes the
 * kernel wait for a grace period, 5 ms and more, and heads are forked after every run.)
 */
#pragma once

#include "launch/slots.h"

/* The pid namespace of a process; 0: it has ended. */
ino_t walk_pidns(pid_t pid);

/* When a process was born, in clock ticks since boot. False: it has ended. */
bool walk_born(pid_t pid, uint64_t *ret_born);

/* How a process ended, as wait(2) reports it. False: no longer known. */
bool walk_status(pid_t pid, int pidfd, int *ret_status);

/* Has the process of this pidfd ended? */
bool walk_is_over(int pidfd);

/* Kills a head's live processes. Returns how many there were: at 0 nothing is left. */
size_t walk_kill(const struct outer *outer, const struct head *head);

/* The same for processes that were started after this head was parked and have lost their parents
 * since. */
size_t walk_kill_since(const struct outer *outer, const struct head *head);

/* How many live processes of a sandbox are not heads; `kills`: kills them, too. */
size_t walk_left(const struct outer *outer, const struct slot *slot, bool kills);
