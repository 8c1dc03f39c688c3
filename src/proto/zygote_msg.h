// SPDX-License-Identifier: Apache-2.0
/*
 * Zygote messages - the messages between viv-launch and a zygote on a SEQPACKET socket
 *
 * Owns:    fixed structs. Descriptors travel beside ZYGOTE_FORK, in the order of enum zygote_fd.
 * May not: carry user data: a zygote never sees a request.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "policy/plan.h"

enum zygote_type {
	ZYGOTE_WALLS = 1, /* launch -> zygote, first: the plan of its children's walls */
	ZYGOTE_FORK,      /* launch -> zygote: fork a child into this shell */
	ZYGOTE_READY,     /* zygote -> launch: imports done; `err` names modules that are not
			   * installed */
	ZYGOTE_FAILED, /* zygote -> launch: a module is installed but cannot be imported; the zygote
			* ends */
	ZYGOTE_FORKED, /* zygote -> launch: the child's pid, or why there is none */
};

enum zygote_fd {
	ZYGOTE_FD_STDIN,
	ZYGOTE_FD_STDOUT,
	ZYGOTE_FD_STDERR,
	ZYGOTE_FD_CHANNEL,
	ZYGOTE_FD_SHELL,  /* pidfd of the shell's init */
	ZYGOTE_FD_STATUS, /* struct walls_go in: enter; struct err out: a wall failed */
	ZYGOTE_FD_CGROUP, /* v2 directory that the child starts in; absent where there is none */
	ZYGOTE_FD_COUNT,
};

struct zygote_walls {
	uint32_t type;
	uint32_t landlock_abi;
	uint32_t is_measured;
	uint32_t is_shared;
};

struct zygote_fork {
	uint32_t type;
	uint32_t sandbox;
	struct plan plan;
};

struct zygote_answer {
	uint32_t type;
	uint32_t sandbox;
	int32_t pid;
	uint32_t reserved;
	struct err err;
};
