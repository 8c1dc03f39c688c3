// SPDX-License-Identifier: Apache-2.0
/*
 * Head - one interpreter of a sandbox, and the fork that makes the next one
 *
 * Owns:    the fork, and descriptors 0 to 3 of the child.
 * May not: decide whether a fork is allowed: that was checked before. Nor be trusted: a head
 *          that has run user code forks as that code lets it.
 */
#pragma once

#include <stdbool.h>

#include <sys/types.h>

#include "base/err.h"

/* Descriptors for a child; out and err are -1 if it keeps its parent's. */
struct head_fds {
	int channel; /* becomes WALL_CHANNEL_FD */
	int out;
	int err;
};

/* Forks, with Python's own fork handlers around it: fork.py has emptied their lists. Returns 0
 * in the child, which has these descriptors and a process group of its own; else the child's
 * pid, or a negative errno. Unless the child is a look, the parent is now a checkpoint, and no
 * process may read its memory any more. The caller keeps the descriptors, in both processes, and
 * holds the GIL. */
pid_t head_fork(const struct head_fds *fds, bool is_look, struct err *err);

/* Waits until the channel has something to read. Meanwhile it reaps heads that were forked here as
 * they end, so that launch can learn how they ended. Restores user code's own SIGCHLD handler
 * afterwards. */
void head_wait(int channel);
