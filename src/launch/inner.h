// SPDX-License-Identifier: Apache-2.0
/*
 * Inner - the half of viv-launch that lives in its own user and pid namespace, as pid 1
 *
 * Owns:    template roots, the network namespaces, shells, zygotes and cold interpreters: all are
 *          its children, and when it dies the kernel ends every one of them.
 * May not: touch cgroups or id maps of the host (the outer half does), or hold a capability there.
 *
 * It is a program of its own (an exec of a sealed copy of viv-launch), because what a process may
 * look into is decided by the user namespace that its memory was made in.
 *
 * Between the halves the messages of proto/launch_msg.h travel on, plus these.
 */
#pragma once

#include <stdint.h>

#include "launch/idmap.h"

enum inner_type {
	INNER_ATTACHED = 32, /* outer -> inner: the interpreter is in its cgroup */
	INNER_FILTER = 33, /* outer -> inner: the seccomp program, `id` steps, in a sealed memfd */
	INNER_UP = 95,     /* inner -> outer: the exec is done, requests may come */
	INNER_HEAD_PID = 96, /* inner -> outer: an interpreter was born; a pidfd beside it */
};

/* First message from the outer half: what the inner half works with. */
struct inner_input {
	struct idmap map;
	uint32_t landlock_abi;
	uint32_t is_measured;  /* no cgroup limits: sample memory ourselves */
	uint32_t needs_attach; /* v1: a newborn waits until the outer half has moved it */
	uint32_t reserved;
};

/* Never returns. Ends when the outer half goes away. */
_Noreturn void inner_main(int control);
