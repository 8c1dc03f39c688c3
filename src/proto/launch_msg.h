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

#define LAUNCH_VERSION 5
#define LAUNCH_PATH_MAX 512
#define LAUNCH_BINDS_MAX 6
#define LAUNCH_PRELOAD_MAX 1024
#define LAUNCH_ROOTS_MAX 32
#define LAUNCH_ZYGOTES_MAX 32
#define LAUNCH_SANDBOXES_MAX 4096
#define LAUNCH_HEADS_MAX 32 /* of one sandbox at a time */
#define LAUNCH_KEPT_MAX 7   /* descriptors kept with a sandbox */
#define LAUNCH_NAME_MAX 64
#define LAUNCH_HEAD_FDS_MAX 5 /* channel; with pipes of its own also out, err and their spools */

enum launch_type {
	/* viv -> launch */
	LAUNCH_ROOT = 1, /* make a template root; answered by LAUNCH_ROOT_MADE */
	LAUNCH_ZYGOTE,   /* start a zygote; answered by LAUNCH_ZYGOTE_UP or _DOWN */
	LAUNCH_RETIRE,   /* end a zygote; its sandboxes live on; answered by LAUNCH_ZYGOTE_DOWN */
	LAUNCH_SPAWN,    /* make a sandbox: fds stdin, stdout, stderr, channel */
	LAUNCH_BEGIN,    /* user code starts: measure from now on, end it at the deadline */
	LAUNCH_KILL,     /* end a sandbox, whole; answered by LAUNCH_GONE */
	LAUNCH_COUNT,    /* how many of everything; answered by LAUNCH_COUNTED */
	LAUNCH_END,      /* a head's run is over, the head lives on; answered by LAUNCH_ENDED */
	LAUNCH_HEAD,     /* a fork inside a sandbox becomes a head: fd channel, or
			    channel and pipes; answered by _HEAD_UP */
	LAUNCH_DROP,     /* end one head and all it started; answered by LAUNCH_EXIT */
	LAUNCH_SIGNAL,   /* SIGINT to one head; answered by LAUNCH_SIGNALLED */
	LAUNCH_FREEZE,   /* stop or let go all of a sandbox; answered by LAUNCH_FROZEN */
	LAUNCH_SAVE,     /* copy /workspace for a head; answered by LAUNCH_SAVED */
	LAUNCH_RESTORE,  /* /workspace as it was for a head; answered by LAUNCH_RESTORED */
	LAUNCH_KEEP,     /* keep these descriptors, and the sandbox, for the next viv */
	LAUNCH_QUIT,     /* end everything, then yourself */
	LAUNCH_METER,    /* what its cgroup counts; answered by LAUNCH_METERED */
	LAUNCH_DISARM,   /* a head's run is over and its facts are known: no answer */
	LAUNCH_SWEEP,    /* count, or end, what is no head; answered by LAUNCH_SWEPT */

	/* launch -> viv */
	LAUNCH_HELLO = 64,  /* first message: what this host gives */
	LAUNCH_ROOT_MADE,   /* err tells */
	LAUNCH_ZYGOTE_UP,   /* imports done, ready to fork */
	LAUNCH_ZYGOTE_DOWN, /* ended; err tells why */
	LAUNCH_SPAWNED,     /* the interpreter is inside; it says HELLO on its channel itself */
	LAUNCH_EXIT,        /* the interpreter ended: the facts of the verdict */
	LAUNCH_GONE,        /* nothing of the sandbox is left; err is set when it never stood */
	LAUNCH_COUNTED,
	LAUNCH_ENDED,   /* the facts of a run whose head lives on */
	LAUNCH_HEAD_UP, /* launch has it; err is set when it is no head: then its number is free */
	LAUNCH_SIGNALLED, /* delivered, or err: the head is gone */
	LAUNCH_FROZEN,    /* err tells */
	LAUNCH_SAVED,     /* err tells: ERR_TOO_LARGE when it is above half of the disk limit */
	LAUNCH_RESTORED,  /* err tells */
	LAUNCH_KEPT,      /* after HELLO, for each kept sandbox: its name; fds as they were kept */
	LAUNCH_KEPT_HEAD, /* behind its KEPT, for each head: its pid; fds as they came */
	LAUNCH_ATTACHED,  /* behind the last KEPT: EXITs that nobody heard follow */
	LAUNCH_METERED,   /* fds as in enum launch_meter; none: nobody counts here */
	LAUNCH_SWEPT,     /* how many processes there are beside the heads */
};

enum launch_limits {
	LAUNCH_LIMITS_V2,       /* memory, pids, cpu by cgroup v2 */
	LAUNCH_LIMITS_V1,       /* ... by cgroup v1 */
	LAUNCH_LIMITS_MEASURED, /* neither is writable: rlimits and sampling */
};

/* Files of a sandbox's cgroup. To read them takes a few us; to ask launch takes two wake-ups. */
enum launch_meter {
	LAUNCH_METER_CPU,
	LAUNCH_METER_MEMORY,
	LAUNCH_METER_PEAK, /* writing to it counts the peak anew from there */
	LAUNCH_METER_KILLS,
	LAUNCH_METER_COUNT,
};

struct launch_bind {
	char source[LAUNCH_PATH_MAX]; /* on the host */
	char target[LAUNCH_PATH_MAX]; /* in the root; always read-only */
};

struct launch_root {
	uint32_t root; /* chosen by viv, < LAUNCH_ROOTS_MAX */
	uint32_t bind_count;
	struct launch_bind binds[LAUNCH_BINDS_MAX];
	uint32_t is_bare; /* no Python in it: for commands over what is bound */
	uint32_t reserved;
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
	uint32_t head; /* 0: the interpreter it was made with */
	uint32_t timeout_ms;
};

/* END, DISARM, DROP, SIGNAL, SAVE, RESTORE; FREEZE uses `head` as 1 (stop) or 0 (go on). */
struct launch_head_ref {
	uint32_t sandbox;
	uint32_t head;
};

struct launch_head {
	uint32_t sandbox;
	uint32_t head;    /* chosen by viv, 1 to LAUNCH_HEADS_MAX - 1, free until its LAUNCH_EXIT */
	uint32_t parent;  /* the head it was forked from, now a checkpoint */
	int32_t pid;      /* as viv's pid namespace counts, from SCM_CREDENTIALS of its HELLO */
	uint32_t is_look; /* a throw-away fork: the parent stays what it was */
};

struct launch_keep {
	uint32_t sandbox;
	char name[LAUNCH_NAME_MAX]; /* opaque to launch: whose it is */
};

struct launch_request {
	uint32_t type;
	uint32_t reserved;
	union {
		struct launch_root root;
		struct launch_zygote zygote;
		struct launch_spawn spawn;
		struct launch_begin begin;
		struct launch_head_ref ref;
		struct launch_head head;
		struct launch_keep keep;
		uint32_t id; /* RETIRE: zygote; KILL, METER: sandbox */
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
	uint32_t can_freeze;  /* the v2 freezer is at hand */
	uint32_t reattach_ms; /* how long sandboxes live without a viv; 0: they end with it */
	uint32_t disks;       /* from which a sandbox reads no faster than its plan says */
	struct err why;       /* why limits are only measured; ERR_NONE otherwise */
};

enum launch_cause {
	LAUNCH_CAUSE_SELF,     /* it ended by itself */
	LAUNCH_CAUSE_DEADLINE, /* launch ended it at its deadline */
	LAUNCH_CAUSE_MEMORY,   /* launch ended it: measured memory above the limit */
	LAUNCH_CAUSE_ASKED,    /* LAUNCH_KILL */
	LAUNCH_CAUSE_LOCKS,    /* launch ended it: too many file locks, memory nobody counts */
};

/* EXIT and ENDED. */
struct launch_exit {
	uint32_t sandbox;
	uint32_t head;
	uint32_t cause;     /* enum launch_cause */
	int32_t code;       /* exit code, or -1 */
	int32_t signal;     /* signal that ended it, or 0 */
	uint64_t oom_kills; /* by the sandbox's cgroup, since BEGIN */
	uint64_t peak;      /* bytes; 0 when not known */
	uint64_t cpu_us;    /* of the interpreter and what it waited for, since BEGIN */
	uint64_t memory;    /* bytes the sandbox has now; 0 when not known */
	uint64_t own_us;    /* cpu time of the interpreter since its birth; 0 when not known */
};

/* HEAD_UP, SIGNALLED, SAVED, RESTORED, FROZEN, SWEPT, KEPT_HEAD. */
struct launch_head_event {
	uint32_t sandbox;
	uint32_t head;
	int32_t pid;       /* KEPT_HEAD */
	uint32_t is_armed; /* KEPT_HEAD: its run has a deadline, that is, no END came yet */
	uint64_t bytes;    /* SAVED: what was copied for this head */
	uint64_t left;     /* SWEPT: processes that are no heads */
};

struct launch_counted {
	uint32_t sandboxes, zygotes, roots, netns, cgroups, fds_outer, fds_inner, heads;
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
		struct launch_head_event head;
		struct launch_keep kept;
	};
};
