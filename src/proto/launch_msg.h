// SPDX-License-Identifier: Apache-2.0
/*
 * Launch messages - the messages between viv and viv-launch on a SEQPACKET socket
 *
 * Owns:    fixed structs, one per message; descriptors travel beside them. docs/protocol.md
 *          describes them.
 * May not: carry text that launch would have to parse. Paths are opaque: launch checks that they
 *          are NUL-terminated and opens them, but never parses them.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "policy/plan.h"

#define LAUNCH_VERSION 6
#define LAUNCH_PATH_MAX 512
#define LAUNCH_BINDS_MAX 6
#define LAUNCH_PRELOAD_MAX 1024
#define LAUNCH_ROOTS_MAX 32
#define LAUNCH_ZYGOTES_MAX 32
#define LAUNCH_SANDBOXES_MAX 4096
#define LAUNCH_HEADS_MAX 32 /* of one sandbox at a time */
#define LAUNCH_KEPT_MAX 7   /* descriptors kept with a sandbox */
#define LAUNCH_NAME_MAX 64
#define LAUNCH_HEAD_FDS_MAX 5 /* channel; with own pipes also out, err and their spools */

enum launch_type {
	/* viv -> launch */
	LAUNCH_ROOT = 1, /* make a template root; answered by LAUNCH_ROOT_MADE */
	LAUNCH_ZYGOTE,   /* start a zygote; answered by LAUNCH_ZYGOTE_UP or _DOWN */
	LAUNCH_RETIRE,   /* end a zygote; its sandboxes live on; answered by LAUNCH_ZYGOTE_DOWN */
	LAUNCH_SPAWN,    /* make a sandbox: fds stdin, stdout, stderr, channel */
	LAUNCH_BEGIN,    /* user code starts: measure from now on, end the head at the deadline */
	LAUNCH_KILL,     /* end a whole sandbox; answered by LAUNCH_GONE */
	LAUNCH_COUNT,    /* count everything launch holds; answered by LAUNCH_COUNTED */
	LAUNCH_END,      /* a head's run is over, the head lives on; answered by LAUNCH_ENDED */
	LAUNCH_HEAD,     /* a fork inside a sandbox becomes a head: fd channel, or
			    channel and pipes; answered by _HEAD_UP */
	LAUNCH_DROP,     /* end one head and all it started; answered by LAUNCH_EXIT */
	LAUNCH_SIGNAL,   /* send SIGINT to one head; answered by LAUNCH_SIGNALLED */
	LAUNCH_FREEZE,   /* freeze or thaw a whole sandbox; answered by LAUNCH_FROZEN */
	LAUNCH_SAVE,     /* copy /workspace for a head; answered by LAUNCH_SAVED */
	LAUNCH_RESTORE,  /* put the copy of /workspace made for a head back; answered by
			  * LAUNCH_RESTORED */
	LAUNCH_KEEP,     /* keep these descriptors, and the sandbox, for the next viv */
	LAUNCH_QUIT,     /* end everything, then launch itself */
	LAUNCH_METER,    /* open the counters of a sandbox's cgroup; answered by LAUNCH_METERED */
	LAUNCH_DISARM,   /* a head's run is over and its facts are known; not answered */
	LAUNCH_SWEEP,    /* count or end processes that do not belong to a head; answered by
			  * LAUNCH_SWEPT */

	/* launch -> viv */
	LAUNCH_HELLO = 64,  /* first message: what this host supports */
	LAUNCH_ROOT_MADE,   /* err tells */
	LAUNCH_ZYGOTE_UP,   /* imports done, ready to fork */
	LAUNCH_ZYGOTE_DOWN, /* ended; err tells why */
	LAUNCH_SPAWNED,     /* the interpreter is inside; it sends HELLO on its channel itself */
	LAUNCH_EXIT,        /* the interpreter ended, with the facts for the verdict */
	LAUNCH_GONE,        /* nothing of the sandbox is left; err is set when it never came up */
	LAUNCH_COUNTED,
	LAUNCH_ENDED,     /* the facts of a run whose head lives on */
	LAUNCH_HEAD_UP,   /* the fork is a head now; err is set when it is not: then its number is
			   * free */
	LAUNCH_SIGNALLED, /* delivered, or err: the head has ended */
	LAUNCH_FROZEN,    /* err tells */
	LAUNCH_SAVED,     /* err is ERR_TOO_LARGE when the copy exceeds half of the disk limit */
	LAUNCH_RESTORED,  /* err tells */
	LAUNCH_KEPT,      /* after HELLO, for each kept sandbox: its name; fds as given to KEEP */
	LAUNCH_KEPT_HEAD, /* after its KEPT, for each head: its pid; fds as given to HEAD */
	LAUNCH_ATTACHED,  /* after the last KEPT: EXITs that no viv has received yet follow */
	LAUNCH_METERED,   /* fds as in enum launch_meter; none: this host has no such counters */
	LAUNCH_SWEPT,     /* how many processes do not belong to a head */
};

enum launch_limits {
	LAUNCH_LIMITS_V2,       /* memory, pids, cpu by cgroup v2 */
	LAUNCH_LIMITS_V1,       /* ... by cgroup v1 */
	LAUNCH_LIMITS_MEASURED, /* neither is writable: rlimits and sampling */
};

/* Files of a sandbox's cgroup. Reading one takes a few microseconds; asking launch takes two
 * wake-ups. */
enum launch_meter {
	LAUNCH_METER_CPU,
	LAUNCH_METER_MEMORY,
	LAUNCH_METER_PEAK, /* writing to it resets the peak */
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
	uint32_t is_bare; /* without Python: for commands over the bound folders */
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
	uint32_t head; /* 0: the interpreter that the sandbox was made with */
	uint32_t timeout_ms;
};

/* END, DISARM, DROP, SIGNAL, SAVE, RESTORE; FREEZE uses `head` as 1 (freeze) or 0 (thaw). */
struct launch_head_ref {
	uint32_t sandbox;
	uint32_t head;
};

struct launch_head {
	uint32_t sandbox;
	uint32_t head;    /* chosen by viv, 1 to LAUNCH_HEADS_MAX - 1, free until its LAUNCH_EXIT */
	uint32_t parent;  /* the head it was forked from, now a checkpoint */
	int32_t pid;      /* as seen in viv's pid namespace, from SCM_CREDENTIALS of its HELLO */
	uint32_t is_look; /* a throw-away fork: the parent does not become a checkpoint */
};

struct launch_keep {
	uint32_t sandbox;
	char name[LAUNCH_NAME_MAX]; /* opaque to launch: viv's name for the sandbox */
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
	uint32_t uid_count; /* host uids available; 1: all sandboxes share the caller's */
	uint32_t is_root;
	uint32_t cgroup_kill; /* sandboxes are killed by cgroup.kill, not by their pid namespace
				 alone */
	uint32_t can_freeze;  /* the cgroup v2 freezer is available */
	uint32_t reattach_ms; /* how long sandboxes live without a viv; 0: they end with it */
	uint32_t disks;       /* disks on which launch can limit a sandbox's read rate as its plan
			       * says */
	struct err why;       /* why limits are only measured; ERR_NONE otherwise */
};

enum launch_cause {
	LAUNCH_CAUSE_SELF,     /* it ended by itself */
	LAUNCH_CAUSE_DEADLINE, /* launch ended it at its deadline */
	LAUNCH_CAUSE_MEMORY,   /* launch ended it: measured memory above the limit */
	LAUNCH_CAUSE_ASKED,    /* LAUNCH_KILL */
	LAUNCH_CAUSE_LOCKS,    /* launch ended it: too many file locks, whose memory no limit
				* counts */
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
	uint64_t over_ns;   /* when the run was seen to end, on the host's monotonic clock */
};

/* HEAD_UP, SIGNALLED, SAVED, RESTORED, FROZEN, SWEPT, KEPT_HEAD. */
struct launch_head_event {
	uint32_t sandbox;
	uint32_t head;
	int32_t pid;       /* KEPT_HEAD */
	uint32_t is_armed; /* KEPT_HEAD: its run has a deadline, so no END came yet */
	uint64_t bytes;    /* SAVED: what was copied for this head */
	uint64_t left;     /* SWEPT: processes that do not belong to a head */
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
