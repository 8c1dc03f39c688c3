// SPDX-License-Identifier: Apache-2.0
/*
 * Box - one sandbox as the inner half sees it, from its shell's birth to its last process's end
 *
 * Owns:    the sandbox's processes and descriptors, and the order of its life (enum box_phase).
 * May not: outlive its processes: a box is freed when init and interpreter are reaped and no fork
 *          is due.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/shown.h"
#include "proto/launch_msg.h"

enum box_phase {
	BOX_SHELL,    /* the shell is being built */
	BOX_FORKING,  /* the zygote was asked for a child */
	BOX_ENTERING, /* the child puts its walls up */
	BOX_RUNNING,  /* the interpreter is inside */
};

/* A process of a box, to be found by its number when it is reaped. */
struct box_pid {
	LIST_ENTRY(box_pid) next;
	struct box *box; /* borrowed: the box it is part of */
	pid_t pid;       /* 0 before birth and once reaped */
};

struct files;

LIST_HEAD(box_pids, box_pid);

/* Memory of a box's processes by the exact figure, and by the cheap one at that time. */
struct box_exact {
	uint64_t exact, cheap;
	uint64_t next_ns; /* when the exact figure may be read again; 0: never read */
};

struct box {
	LIST_ENTRY(box) next;
	uint32_t id;
	enum box_phase phase;
	bool is_dying;   /* init was killed */
	bool waits_root; /* its shell waits until the root is built */
	bool is_armed;   /* user code runs: measure it */
	bool is_shared;  /* it has other heads, so it does not end with the first one */
	struct box_pid init;
	struct box_pid head;
	int init_pidfd; /* owned; until the interpreter is inside */
	int status;     /* owned: of the shell, then of the interpreter */
	int fds[4];     /* owned: stdin, stdout, stderr, channel; until they are handed on */
	int cgroup;     /* owned: v2 directory, or -1 */
	int netns;      /* owned; returned to the pool; -1: the shell made its own */
	uint64_t peak;  /* measured */
	uint64_t used;  /* by measuring: what the last sample says */
	struct box_exact exact; /* by measuring: the last exact figure */
	struct shown shown;     /* owned: the host's folders shown in it */
	struct files *files;    /* owned, or NULL: saved copies of its files */
	struct err err;         /* why it never came up */
	struct launch_spawn spawn;
};

LIST_HEAD(box_list, box);
