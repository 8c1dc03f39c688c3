// SPDX-License-Identifier: Apache-2.0
/*
 * Inner - the half of viv-launch that lives in its own user and pid namespace, as pid 1
 *
 * Owns:    template roots, the network namespaces, shells, zygotes and cold interpreters: all are
 *          its children, and when it dies the kernel ends every one of them.
 * May not: touch cgroups or id maps of the host (the outer half does), or hold a capability there.
 *
 * It is a program of its own (an exec of viv-launch), because the user namespace in which a
 * process's memory was created (at exec) decides what it may inspect.
 *
 * The halves exchange the messages of proto/launch_msg.h, plus these.
 */
#pragma once

#include <stdint.h>

#include "launch/idmap.h"

enum inner_type {
	INNER_ATTACH = 32,    /* outer -> inner: descriptors of the v1 groups, for the
			       * interpreter */
	INNER_SHARED = 34,    /* outer -> inner: the sandbox no longer ends with its interpreter */
	INNER_UNSAVE = 35,    /* outer -> inner: the saved files of a head are no longer needed */
	INNER_FORGET = 36,    /* outer -> inner: viv has left: drop its zygotes and roots */
	INNER_REFRESH = 37,   /* outer -> inner: make changes in shown folders visible */
	INNER_FORGOTTEN = 93, /* inner -> outer */
	INNER_ABOVE = 94,     /* inner -> outer: a shared sandbox is above its measured limit */
	INNER_UP = 95,        /* inner -> outer: the exec is done, requests may come */
	INNER_HEAD_PID = 96,  /* inner -> outer: an interpreter was born; a pidfd comes with it */
};

/* First message from the outer half. */
struct inner_input {
	struct idmap map;
	uint32_t landlock_abi;
	uint32_t is_measured; /* no cgroup limits: sample memory ourselves */
	uint32_t task_count;  /* v1: a newborn waits for INNER_ATTACH and moves itself into this
			       * many groups; 0: v2 or none */
	uint32_t reserved;
};

/* Never returns. Ends when the outer half ends. */
_Noreturn void inner_main(int control);
