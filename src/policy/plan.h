// SPDX-License-Identifier: Apache-2.0
/*
 * Plan - the flat, checked struct from which a sandbox is built
 *
 * Owns:    the numbers of one sandbox and their ranges. It travels whole to viv-launch and to the
 *          zygote, so it holds no pointer, and each of them checks it again.
 * May not: know policies, names or configuration: those end where a plan begins.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define PLAN_VERSION 1

/* In the order in which results and `doctor` list them. */
enum wall_id {
	WALL_USER,
	WALL_MOUNT,
	WALL_PID,
	WALL_NET,
	WALL_IPC,
	WALL_UTS,
	WALL_CGROUP,
	WALL_FDS,
	WALL_RLIMIT,
	WALL_CAPS,
	WALL_LANDLOCK,
	WALL_SECCOMP,
	WALL_COUNT,
};

/* All walls of a sandbox that viv-launch builds. Walls of other backends come after these. */
#define WALLS_ALL ((1U << (WALL_SECCOMP + 1)) - 1)

/* Slower than this, others would wait too long for a page that a sandbox is just reading. */
#define PLAN_IO_MIN (1ULL << 20)

#define PLAN_LOCKS_MAX 8192 /* ranges of files that a sandbox may have locked */

enum limits_mode {
	LIMITS_CGROUP,   /* cgroup or nothing */
	LIMITS_MEASURED, /* rlimits and sampling are enough where no cgroup is available */
};

/* How the host's files besides /usr are shown: those of the config, a client's folder, a venv. */
enum plan_shown {
	SHOWN_NOTHING,
	SHOWN_APART,  /* through an overlay: the inodes in it are the sandbox's own */
	SHOWN_DIRECT, /* no overlay is possible: the inodes are the host's */
	SHOWN_COUNT,
};

struct plan {
	uint32_t version;    /* PLAN_VERSION */
	uint32_t limits;     /* enum limits_mode: the least this plan accepts */
	uint64_t memory;     /* bytes, the whole sandbox */
	uint64_t disk;       /* bytes, each of /workspace and /tmp */
	uint32_t pids;       /* processes and threads, init included */
	uint32_t cpus_milli; /* 1000 = one cpu */
	uint32_t files;      /* RLIMIT_NOFILE */
	uint32_t shown;      /* enum plan_shown; launch raises it to what the root shows */
	uint64_t io;         /* bytes per second read from each disk; 0: no limit */
};

/* Is every number in its range? -EINVAL and the name of the first that is not. */
int plan_check(const struct plan *plan, struct err *err);

/* "user", "mount", ... as in results. */
const char *wall_name(enum wall_id id);
