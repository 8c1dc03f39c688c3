// SPDX-License-Identifier: Apache-2.0
/*
 * Shell - an empty sandbox: namespaces, mounts and a tiny init, ready for an interpreter
 *
 * Owns:    everything that happens in a shell's first process, from clone to the init's loop.
 * May not: allocate, exec, or read a byte that comes from a sandbox. The init holds no descriptor
 *          and no capability, cannot be traced, and does one thing: it reaps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/err.h"
#include "policy/plan.h"
#include "proto/launch_msg.h"

struct shell_input {
	struct plan plan;
	int mntns;   /* borrowed: of the template root; -1: sent over the status socket */
	int netns;   /* borrowed: an empty one from the pool; -1: make one */
	int cgroup;  /* borrowed: v2 directory that it starts in, or -1 */
	uint32_t id; /* of the inner user namespace: the sandbox's own, or 0 when all share one */
	bool has_range;                 /* more than one id is mapped */
	const struct launch_root *root; /* borrowed: the request that the root was made from */
};

/* A shell's report when it is up; the contexts of its overlays (shown.h) come with it. */
struct shell_report {
	struct err err;
	uint32_t shown; /* enum plan_shown */
	uint32_t reserved;
};

/* Starts a shell. On the socket *ret_status a struct shell_report comes back, with ERR_NONE when
 * the shell is up. Returns the pid. */
pid_t shell_start(const struct shell_input *input, int *ret_pidfd, int *ret_status,
		  struct err *err);
