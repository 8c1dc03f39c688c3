// SPDX-License-Identifier: Apache-2.0
/*
 * Box - one sandbox, whichever backend built it
 *
 * Owns:    the operations of a sandbox (box_impl) and its callbacks (box_calls).
 * May not: know how a backend builds it, or what runs in it.
 *
 * The runner in a box speaks frames (proto/frame.h) on the channel that the box was made with, and
 * writes to its pipes. Those descriptors belong to the session; everything else goes through the
 * calls below. A head is one interpreter of a box: number 0 is the one that it was made with, the
 * others were forked from it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <sys/types.h>

#include "base/err.h"
#include "policy/plan.h"

#define BOX_HEADS_MAX 32   /* interpreters of one box at a time */
#define BOX_HEAD_FDS_MAX 5 /* channel; with pipes of its own also out, err and their spools */
#define BOX_NAME_MAX 64    /* of a box that is kept for the next viv */

struct backend;
struct box;
struct runtime;

/* Descriptors that a box is made with: the sandbox's ends. */
enum box_fd {
	BOX_STDIN,
	BOX_STDOUT,
	BOX_STDERR,
	BOX_CHANNEL,
	BOX_FD_COUNT,
};

/* The input a box is made from. Boxes are interchangeable when all of this is equal. */
struct box_kind {
	const struct backend *backend; /* a static row: the only backend that may build it */
	const struct runtime *runtime; /* borrowed: lives as long as the pool */
	const char *trust;             /* borrowed for the call; templates never serve two trust
					* names */
	const char *data;              /* host folder, read-only at /data; NULL: none */
	struct plan plan;
	bool is_cold; /* a fresh interpreter: no template, nothing imported */
};

/* The mechanism that limits memory, processes and CPU time of a box. */
enum box_limits {
	BOX_LIMITS_V2,       /* cgroup v2 */
	BOX_LIMITS_V1,       /* cgroup v1 */
	BOX_LIMITS_MEASURED, /* neither is writable: rlimits and sampling */
};

enum box_cause {
	BOX_CAUSE_SELF,     /* it ended by itself */
	BOX_CAUSE_DEADLINE, /* the backend ended it at its deadline */
	BOX_CAUSE_MEMORY,   /* the backend ended it: measured memory above the limit */
	BOX_CAUSE_ASKED,    /* `kill` or `drop_head` */
	BOX_CAUSE_LOCKS,    /* the backend ended it: too many file locks, whose memory no limit
			     * counts */
};

/* The facts of a run, or of an interpreter that ended. */
struct box_exit {
	enum box_cause cause;
	int32_t code;       /* exit code, or -1 */
	int32_t signal;     /* signal that ended it, or 0 */
	uint64_t oom_kills; /* of the box, since `begin` */
	uint64_t peak;      /* bytes; 0 when not known */
	uint64_t cpu_us;    /* of the interpreter and what it waited for, since `begin` */
	uint64_t memory;    /* bytes the box has now; 0 when not known */
	uint64_t own_us;    /* cpu time of the interpreter since its birth; 0 when not known */
	uint64_t over_ns;   /* when it was seen to end; 0 when not known */
};

/* Readings at the start of a run, for the meter. */
struct box_mark {
	uint64_t cpu_us; /* of the box */
	uint64_t own_us; /* of the interpreter */
	clockid_t clock; /* the interpreter's own clock; 0: none */
	uint64_t kills;
	bool has_kills, has_counts; /* the meter was open by then */
	bool is_set;                /* a run is on */
};

/* A fork that has said HELLO on its own channel. */
struct box_head {
	uint32_t head;   /* chosen by the caller, 1 to BOX_HEADS_MAX - 1, free until `exited` */
	uint32_t parent; /* the head it was forked from */
	pid_t pid;       /* on this host, from the credentials of its HELLO; 0: not a process of
			  * this host */
	bool is_look;    /* a throw-away fork: the parent does not become a checkpoint */
};

/* The operations of a box. They return 0 or a negative errno; results arrive through box_calls. */
struct box_impl {
	/* Always present. `begin`: code starts in this head now; end it after the timeout. `end`:
	 * its run is over, the head lives on; `ended` follows. `interrupt`: SIGINT to the head.
	 * `kill`: ends everything; `gone` follows. */
	int (*begin)(struct box *box, uint32_t head, uint32_t timeout_ms, struct err *err);
	int (*end)(struct box *box, uint32_t head, struct err *err);
	int (*interrupt)(struct box *box, uint32_t head, struct err *err);
	int (*kill)(struct box *box, struct err *err);

	/* The rest may be NULL: then this box cannot do it. */

	/* The box sent HELLO with all its walls up. */
	void (*stands)(struct box *box);

	/* A fork becomes a head: with its channel, or channel, out, err and their spools. `head_up`
	 * follows. Without this there are no checkpoints, branches and looks. */
	int (*fork_head)(struct box *box, const struct box_head *head, const int *fds,
			 size_t fd_count, struct err *err);

	/* Ends one head and everything it started; `exited` follows. Present if fork_head is. */
	int (*drop_head)(struct box *box, uint32_t head, struct err *err);

	/* The run of this head is over, and its facts are known: not answered. Present if `meter`
	 * is. */
	int (*disarm)(struct box *box, uint32_t head, struct err *err);

	/* Copies /workspace for a head, and puts it back; `saved` and `restored` follow. */
	int (*save)(struct box *box, uint32_t head, struct err *err);
	int (*restore)(struct box *box, uint32_t head, struct err *err);

	/* Freezes or thaws all its processes; `frozen` follows. */
	int (*freeze)(struct box *box, bool is_on, struct err *err);

	/* Keeps the box, with these descriptors, for the next viv (struct backend_calls,
	 * `kept`). */
	int (*keep)(struct box *box, const char *name, const int *fds, size_t fd_count,
		    struct err *err);

	/* Counts or ends processes that do not belong to a head; `swept` follows. */
	int (*sweep)(struct box *box, bool kills, struct err *err);

	/* Reads what the box uses without a request to the backend: `meter` opens the counters
	 * (until they are open, `end` is used), `mark` notes where a run begins, `count` starts
	 * counting when its code is on its way, `measure` reads the facts of a run that ended well.
	 * `measure` returns false where only `end` can tell. */
	int (*meter)(struct box *box, struct err *err);
	void (*mark)(struct box *box, struct box_mark *mark);
	void (*count)(struct box *box, bool is_alone, struct box_mark *mark);
	bool (*measure)(struct box *box, const struct box_mark *mark, struct box_exit *facts);
};

/* Callbacks of a box, from the loop. */
struct box_calls {
	/* A head ended; `why` is set when there are no facts. */
	void (*exited)(void *user, uint32_t head, const struct box_exit *facts,
		       const struct err *why);

	/* The answers to end, fork_head, save, restore, freeze and sweep. */
	void (*ended)(void *user, uint32_t head, const struct box_exit *facts);
	void (*head_up)(void *user, uint32_t head, const struct err *why);
	void (*saved)(void *user, uint32_t head, const struct err *why);
	void (*restored)(void *user, uint32_t head, const struct err *why);
	void (*frozen)(void *user, const struct err *why);
	void (*swept)(void *user, uint64_t left);

	/* Nothing of the box is left, and its number is free; `why` is set when it never came up.
	 * The last callback: the backend frees the box. */
	void (*gone)(void *user, const struct err *why);
};

/* A backend's own struct begins with this. */
struct box {
	const struct box_impl *impl;   /* a static row */
	const struct backend *backend; /* a static row */
	const struct box_calls *calls; /* a static row */
	void *user;                    /* borrowed until `gone` */
	uint32_t number;               /* unique among the boxes of its backend */
	uint32_t walls;                /* walls that its HELLO must report: exactly these */
	uint32_t shown;                /* enum plan_shown: the least that its seccomp filter must
					* account for */
};

/* CPU time that a process of this host has used; 0: it has ended. */
uint64_t box_process_us(pid_t pid);

/* CPU time of the interpreter alone since the mark. */
uint64_t box_own_us(const struct box_mark *mark);

/* A run of the interpreter `pid` is about to begin. */
void box_mark(struct box *box, pid_t pid, struct box_mark *ret_mark);
