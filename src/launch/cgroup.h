// SPDX-License-Identifier: Apache-2.0
/*
 * Cgroup - a limited, countable, killable group for each sandbox
 *
 * Owns:    one directory of ours per hierarchy (`vivarium-<random>`, locked) and everything below
 *          it.
 * May not: touch a group it did not make, except to enable controllers on the way to its own.
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
	CGROUP_V1_BLKIO, /* optional: without it reads are not limited */
	CGROUP_TREES,
};

#define CGROUP_FREE_MAX 256
#define CGROUP_DISKS_MAX 64
#define CGROUP_DISK_SIZE 24

/* A group without processes, with the limits of `plan`, ready to be reused. */
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
	size_t disk_count;                              /* disks whose reads can be limited */
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
	bool is_used_up;     /* its settings were changed, so it is not reused */
	struct plan plan;
};

struct cgroup_facts {
	uint64_t oom_kills;
	uint64_t peak;
};

/* Finds the hierarchies this user may use, makes our directories, and removes those of dead
 * launchers: first in v2, where the inner half starts; then in v1, unless v2 has all controllers
 * needed. */
void cgroups_open(struct cgroups *groups);
void cgroups_open_v1(struct cgroups *groups);
void cgroups_close(struct cgroups *groups);

/* Makes the leaf that the inner half lives in; *ret_v2 (or -1) is the directory to clone into. */
int cgroups_leaf(struct cgroups *groups, int *ret_v2, struct err *err);

/* Lets the inner half start sandboxes in v2 groups: a clone into a group also needs write access to
 * the procs file of the common ancestor. The limits stay ours. */
int cgroups_hand_over(const struct cgroups *groups, const struct idmap *map, struct err *err);

/* A group with the plan's limits. *ret_v2 (or -1) is the directory to clone into. */
int cgroup_take(struct cgroups *groups, const struct plan *plan, const struct idmap *map,
		struct cgroup *ret_group, int *ret_v2, struct err *err);

/* Opens the sandbox's v1 groups (it is born into its v2 group): writable descriptors, one per
 * hierarchy, owned by the caller. A process that writes "0" moves itself. */
int cgroup_open_tasks(const struct cgroups *groups, const struct cgroup *group,
		      int ret_tasks[WALL_TASKS_MAX], size_t *ret_count, struct err *err);

/* Reads the kernel's counters so far. */
void cgroup_read(const struct cgroups *groups, const struct cgroup *group,
		 struct cgroup_facts *ret_facts);

/* Kills all processes in it (v2 only; elsewhere they die with the pid namespace). */
void cgroup_kill(const struct cgroups *groups, const struct cgroup *group);

/* Gives the group back; all its processes must have ended. It is kept for the next sandbox of the
 * same plan where the kernel's peak can be reset (v1), else removed. */
void cgroup_give(struct cgroups *groups, const struct cgroup *group);

/* Which cgroup version the limits come from. */
enum launch_limits cgroups_limits(const struct cgroups *groups);

/* How many v1 groups a process of a sandbox has to join. */
uint32_t cgroups_task_count(const struct cgroups *groups);

/* cgroup_io.c: how fast a sandbox reads from disks. */

/* Finds the disks present now on which the kernel can limit reads; none where the controller is not
 * available to us. */
void cgroups_find_disks(struct cgroups *groups);

/* Limits how fast a group reads from each of these disks. */
int cgroup_limit_reads(const struct cgroups *groups, uint32_t id, uint64_t rate, struct err *err);

/* cgroup_state.c: a live sandbox. */

/* Freezes or thaws all its processes (v2 only). */
int cgroup_freeze(const struct cgroups *groups, struct cgroup *group, bool is_on, struct err *err);
bool cgroup_is_frozen(const struct cgroups *groups, const struct cgroup *group);

/* From now on, when memory is short, the kernel kills one process at a time, not all at once. */
void cgroup_spare_others(const struct cgroups *groups, struct cgroup *group);

/* CPU time in us of all processes that were ever in it. False: no cgroup counts it here. */
bool cgroup_cpu(const struct cgroups *groups, const struct cgroup *group, uint64_t *ret_us);

/* Bytes in use now; 0: not known. */
uint64_t cgroup_memory(const struct cgroups *groups, const struct cgroup *group);

/* Resets the peak, where the kernel can do that. */
void cgroup_reset_peak(const struct cgroups *groups, const struct cgroup *group);

/* Opens its counter files, owned by the caller; `ret_fds` must be -1 on entry. -ENOTSUP where
 * neither cgroup version counts. */
int cgroup_open_meter(const struct cgroups *groups, const struct cgroup *group,
		      int ret_fds[LAUNCH_METER_COUNT], struct err *err);

/* Opens everything needed to join it: the v2 directory to clone into, if any, then the v1 files. */
int cgroup_open_all(const struct cgroups *groups, const struct cgroup *group,
		    int ret_fds[1 + WALL_TASKS_MAX], size_t *ret_count, bool *ret_has_v2,
		    struct err *err);

/* Lists its processes as text, one pid per line (v2 only). */
int cgroup_list(const struct cgroups *groups, const struct cgroup *group, struct buf *text,
		struct err *err);

/* "g<id>/<file>", below the directory of a tree. */
void cgroup_path(char *path, size_t size, uint32_t id, const char *file);

/* Reads the number in a file, after `key` if given. 0: not found. */
uint64_t cgroup_number(int dir, const char *path, const char *key);
