// SPDX-License-Identifier: Apache-2.0
/*
 * Walk - which processes of a sandbox belong to which of its heads
 *
 * Owns:    the reading of /proc for that, and the signals to what a head has started.
 * May not: signal a process that it has not seen in that very sandbox, by number and time of birth.
 *
 * A head's own are those whose nearest head among their ancestors it is. Who has lost its parents
 * (a double fork) is the child of the sandbox's init: it belongs to the head that was running when
 * it was born. (A cgroup for each head would say the same, but moving a process into one makes the
 * kernel wait for a grace period, 5 ms and more, and heads are forked after every run.)
 */
#pragma once

#include "launch/slots.h"

/* The pid namespace of a process; 0: it is gone. */
ino_t walk_pidns(pid_t pid);

/* When a process was born, in clock ticks since the boot. False: it is gone. */
bool walk_born(pid_t pid, uint64_t *ret_born);

/* How a process ended, as wait(2) tells it. False: nobody can say any more. */
bool walk_status(pid_t pid, int pidfd, int *ret_status);

/* Has the process of this pidfd ended? */
bool walk_is_over(int pidfd);

/* Kills what lives of a head. Returns how many that were: at 0 nothing is left. */
size_t walk_kill(const struct outer *outer, const struct head *head);

/* The same for what was started after this head was parked, and has lost its parents since. */
size_t walk_kill_since(const struct outer *outer, const struct head *head);

/* How many processes live in a sandbox that are no heads; `kills`: they are killed, too. */
size_t walk_left(const struct outer *outer, const struct slot *slot, bool kills);
