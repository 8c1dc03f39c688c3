// SPDX-License-Identifier: Apache-2.0
/*
 * Launch messages - what viv and viv-launch say to each other over a SEQPACKET socket
 *
 * Owns:    fixed structs, one per message; descriptors travel beside them. docs/protocol.md is this
 *          in words.
 * May not: carry text that launch would have to parse. Paths are opaque, NUL-terminated and checked
 *          for that; launch opens them, it never looks inside them.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "policy/plan.h"

#define LAUNCH_VERSION 1
#define LAUNCH_PATH_MAX 512
#define LAUNCH_BINDS_MAX 6
#define LAUNCH_PRELOAD_MAX 1024
#define LAUNCH_ROOTS_MAX 32
#define LAUNCH_ZYGOTES_MAX 32
#define LAUNCH_SANDBOXES_MAX 4096

enum launch_type {
	/* viv -> launch */
	LAUNCH_ROOT = 1, /* make a template root; answered by LAUNCH_ROOT_MADE */
	LAUNCH_ZYGOTE,   /* start a zygote; answered by LAUNCH_ZYGOTE_UP or _DOWN */
	LAUNCH_RETIRE,   /* end a zygote; its sandboxes live on; answered by LAUNCH_ZYGOTE_DOWN */
	LAUNCH_SPAWN,    /* make a sandbox: fds stdin, stdout, stderr, channel */
	LAUNCH_BEGIN,    /* user code starts: measure from now on, end it at the deadline */
	LAUNCH_KILL,     /* end a sandbox, whole; answered by LAUNCH_GONE */
	LAUNCH_COUNT,    /* how many of everything; answered by LAUNCH_COUNTED */

	/* launch -> viv */
	LAUNCH_HELLO = 64,  /* first message: what this host gives */
	LAUNCH_ROOT_MADE,   /* err tells */
	LAUNCH_ZYGOTE_UP,   /* imports done, ready to fork */
	LAUNCH_ZYGOTE_DOWN, /* ended; err tells why */
	LAUNCH_SPAWNED,     /* the interpreter is inside; it says HELLO on its channel itself */
	LAUNCH_EXIT,        /* the interpreter ended: the facts of the verdict */
	LAUNCH_GONE,        /* nothing of the sandbox is left; err is set when it never stood */
	LAUNCH_COUNTED,
};

enum launch_limits {
	LAUNCH_LIMITS_V2,       /* memory, pids, cpu by cgroup v2 */
	LAUNCH_LIMITS_V1,       /* ... by cgroup v1 */
	LAUNCH_LIMITS_MEASURED, /* neither is writable: rlimits and sampling */
};

struct launch_bind {
	char source[LAUNCH_PATH_MAX]; /* on the host */
	char target[LAUNCH_PATH_MAX]; /* in the root; always read-only */
};

struct launch_root {
	uint32_t root; /* chosen by viv, < LAUNCH_ROOTS_MAX */
	uint32_t bind_count;
	struct launch_bind binds[LAUNCH_BINDS_MAX];
};

struct launch_zygote {
	uint32_t zygote; /* chosen by viv, < LAUNCH_ZYGOTES_MAX */
	uint32_t root;
	char python[LAUNCH_PATH_MAX];     /* the interpreter, as seen inside the root */
	char preload[LAUNCH_PRELOAD_MAX]; /* module names, separated by one space */
};

struct launch_spawn {
	uint32_t sandbox; /* chosen by viv, < LAUNCH_SANDBOXES_MAX, free until LAUNCH_GONE */
	uint32_t root;
	int32_t zygote; /* or -1: a cold sandbox, which execs `python` */
	uint32_t reserved;
	struct plan plan;
	char python[LAUNCH_PATH_MAX]; /* cold only */
};

struct launch_begin {
	uint32_t sandbox;
	uint32_t timeout_ms;
};

struct launch_request {
	uint32_t type;
	uint32_t reserved;
	union {
		struct launch_root root;
		struct launch_zygote zygote;
		struct launch_spawn spawn;
		struct launch_begin begin;
		uint32_t id; /* RETIRE: zygote; KILL: sandbox */
	};
};

struct launch_hello {
	uint32_t version;
	uint32_t limits; /* enum launch_limits */
	uint32_t landlock_abi;
	uint32_t uid_count; /* host ids at hand: 1 = all sandboxes share the caller's */
	uint32_t is_root;
	uint32_t cgroup_kill; /* sandboxes are killed by cgroup.kill, not by their pid namespace
				 alone */
	struct err why;       /* why limits are only measured; ERR_NONE otherwise */
};

enum launch_cause {
	LAUNCH_CAUSE_SELF,     /* it ended by itself */
	LAUNCH_CAUSE_DEADLINE, /* launch ended it at its deadline */
	LAUNCH_CAUSE_MEMORY,   /* launch ended it: measured memory above the limit */
	LAUNCH_CAUSE_ASKED,    /* LAUNCH_KILL */
};

struct launch_exit {
	uint32_t sandbox;
	uint32_t cause;     /* enum launch_cause */
	int32_t code;       /* exit code, or -1 */
	int32_t signal;     /* signal that ended it, or 0 */
	uint64_t oom_kills; /* by the sandbox's cgroup */
	uint64_t peak;      /* bytes; 0 when not known */
	uint64_t cpu_us;    /* of the interpreter and what it waited for */
};

struct launch_counted {
	uint32_t sandboxes, zygotes, roots, netns, cgroups, fds_outer, fds_inner, reserved;
	uint64_t rss_outer, rss_inner;
};

struct launch_event {
	uint32_t type;
	uint32_t id; /* of the root, zygote or sandbox */
	struct err err;
	union {
		struct launch_hello hello;
		struct launch_exit exit;
		struct launch_counted counted;
	};
};
