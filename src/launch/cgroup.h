// SPDX-License-Identifier: Apache-2.0
/*
 * Cgroup - a limited, countable, killable group for each sandbox
 *
 * Owns:    one directory of ours per hierarchy (`vivarium-<random>`, locked) and everything below
 * it. May not: touch a group it did not make, except to enable controllers on the way to its own.
 *
 * Two trees may be in use at once. `v2` is where sandboxes are born (CLONE_INTO_CGROUP) and killed
 * (cgroup.kill); limits come from v2 where its controllers are at hand, else from v1.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "launch/idmap.h"
#include "policy/plan.h"
#include "proto/launch_msg.h"
#include "walls/wall.h"

enum cgroup_tree {
	CGROUP_V2,
	CGROUP_V1_MEMORY,
	CGROUP_V1_PIDS,
	CGROUP_V1_CPU,
	CGROUP_V1_BLKIO, /* not every host has it: reads are not limited then */
	CGROUP_TREES,
};

#define CGROUP_FREE_MAX 256
#define CGROUP_DISKS_MAX 64
#define CGROUP_DISK_SIZE 24

/* A group that no process is in, with the limits of `plan`, to be used again. */
struct cgroup_free {
	uint32_t id;
	uint64_t oom_kills; /* counted so far; the kernel does not reset it */
	struct plan plan;
};

struct cgroups {
	int tree[CGROUP_TREES];   /* owned: our directory in that hierarchy, or -1 */
	int parent[CGROUP_TREES]; /* owned: the directory ours is in */
	char name[ID_SIZE];       /* of our directory */
	bool v2_limits;           /* memory, pids and cpu are v2 controllers here */
	bool v1_limits;
	bool v2_io;                                     /* ... and so is io */
	size_t disk_count;                              /* whose reads can be limited */
	char disks[CGROUP_DISKS_MAX][CGROUP_DISK_SIZE]; /* "MAJOR:MINOR" */
	uint32_t next_id;
	size_t free_count;
	struct cgroup_free free[CGROUP_FREE_MAX];
	struct err why; /* why there are no limits */
};

/* The group of one sandbox. */
struct cgroup {
	uint32_t id;
	uint64_t oom_before; /* of earlier sandboxes */
	bool is_used_up;     /* its settings were changed: nobody else gets it */
	struct plan plan;
};

struct cgroup_facts {
	uint64_t oom_kills;
	uint64_t peak;
};

/* Finds what this user may use, makes our directories, and sweeps those of dead launchers: first in
 * v2, which the inner half is born into; then, unless that has all it takes, in v1. */
void cgroups_open(struct cgroups *groups);
void cgroups_open_v1(struct cgroups *groups);
void cgroups_close(struct cgroups *groups);

/* Makes the leaf that the inner half lives in; *ret_v2 (or -1) is the directory to clone into. */
int cgroups_leaf(struct cgroups *groups, int *ret_v2, struct err *err);

/* Lets the inner half bear sandboxes in v2: a clone into a group needs write access to the procs
 * file of the common ancestor, too. Limits stay ours. */
int cgroups_hand_over(const struct cgroups *groups, const struct idmap *map, struct err *err);

/* A group with the plan's limits. *ret_v2 (or -1) is the directory to clone into. */
int cgroup_take(struct cgroups *groups, const struct plan *plan, const struct idmap *map,
		struct cgroup *ret_group, int *ret_v2, struct err *err);

/* The ways into its v1 groups (into v2 it was born): writable descriptors, one per hierarchy, now
 * the caller's. A process that writes "0" moves itself. */
int cgroup_open_tasks(const struct cgroups *groups, const struct cgroup *group,
		      int ret_tasks[WALL_TASKS_MAX], size_t *ret_count, struct err *err);

/* What the kernel counted so far. */
void cgroup_read(const struct cgroups *groups, const struct cgroup *group,
		 struct cgroup_facts *ret_facts);

/* Kills all in it (v2 only; elsewhere the death of the pid namespace does it). */
void cgroup_kill(const struct cgroups *groups, const struct cgroup *group);

/* Gives the group back; all processes in it must be gone. It is kept for the next sandbox of the
 * same plan where the kernel's peak can be reset (v1), else removed. */
void cgroup_give(struct cgroups *groups, const struct cgroup *group);

/* enum launch_limits: what the limits come from. */
enum launch_limits cgroups_limits(const struct cgroups *groups);

/* How many v1 groups a process of a sandbox has to join. */
uint32_t cgroups_task_count(const struct cgroups *groups);

/* Of cgroup_io.c: how fast a sandbox reads from disks. */

/* Finds the disks that are there now and that the kernel limits; none where the controller is not
 * ours to use. */
void cgroups_find_disks(struct cgroups *groups);

/* Limits what a group reads from each of them. */
int cgroup_limit_reads(const struct cgroups *groups, uint32_t id, uint64_t rate, struct err *err);

/* Of cgroup_state.c: a sandbox that is alive. */

/* Stops all in it, or lets it go on (v2 only). */
int cgroup_freeze(const struct cgroups *groups, struct cgroup *group, bool is_on, struct err *err);
bool cgroup_is_frozen(const struct cgroups *groups, const struct cgroup *group);

/* From now on the kernel takes one process at a time when memory is short, not all at once. */
void cgroup_spare_others(const struct cgroups *groups, struct cgroup *group);

/* CPU time of all that was ever in it, in us. False: nobody counts it here. */
bool cgroup_cpu(const struct cgroups *groups, const struct cgroup *group, uint64_t *ret_us);

/* Bytes that it has now; 0: not known. */
uint64_t cgroup_memory(const struct cgroups *groups, const struct cgroup *group);

/* The peak is counted anew from here, where the kernel can do that. */
void cgroup_reset_peak(const struct cgroups *groups, const struct cgroup *group);

/* Its files to read, now the caller's; `ret_fds` comes in with -1 in each. Where neither version
 * counts: -ENOTSUP. */
int cgroup_open_meter(const struct cgroups *groups, const struct cgroup *group,
		      int ret_fds[LAUNCH_METER_COUNT], struct err *err);

/* All ways into it: the v2 directory to clone into, where there is one, then those of v1. */
int cgroup_open_all(const struct cgroups *groups, const struct cgroup *group,
		    int ret_fds[1 + WALL_TASKS_MAX], size_t *ret_count, bool *ret_has_v2,
		    struct err *err);

/* The processes in it as text, a number in a line (v2 only). */
int cgroup_list(const struct cgroups *groups, const struct cgroup *group, struct buf *text,
		struct err *err);

/* "g<id>/<file>", below the directory of a tree. */
void cgroup_path(char *path, size_t size, uint32_t id, const char *file);

/* The number in a file, behind `key` where one is given. 0: there is none. */
uint64_t cgroup_number(int dir, const char *path, const char *key);
