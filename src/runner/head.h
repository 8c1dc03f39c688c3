// SPDX-License-Identifier: Apache-2.0
/*
 * Head - one interpreter of a sandbox, and the fork that makes the next one
 *
 * Owns:    the fork, and what stands at descriptors 0 to 3 of the child.
 * May not: decide whether a fork may be: that was looked at before. Nor be trusted: a head that has
 *          run user code forks as that code lets it.
 */
#pragma once

#include <stdbool.h>

#include <sys/types.h>

#include "base/err.h"

/* Descriptors for a child; out and err are -1 where it keeps its parent's. */
struct head_fds {
	int channel; /* becomes WALL_CHANNEL_FD */
	int out;
	int err;
};

/* Forks, with Python's own fork handlers around it: fork.py has emptied their lists. Returns 0 in
 * the child, which has a process group of its own and these descriptors; else the child's pid, or a
 * negative errno. After a fork that is no look the parent is a checkpoint: nobody may look into its
 * memory any more. The descriptors stay the caller's, in both. The caller holds the GIL. */
pid_t head_fork(const struct head_fds *fds, bool is_look, struct err *err);

/* Waits until the channel has something, while heads that were forked here live; as they end they
 * are reaped, so that launch can tell how. Before user code's own handlers are heard again. */
void head_wait(int channel);
