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

#include "base/err.h"
#include "base/id.h"
#include "launch/idmap.h"
#include "policy/plan.h"
#include "proto/launch_msg.h"

enum cgroup_tree {
	CGROUP_V2,
	CGROUP_V1_MEMORY,
	CGROUP_V1_PIDS,
	CGROUP_V1_CPU,
	CGROUP_TREES,
};

#define CGROUP_FREE_MAX 256

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
	uint32_t next_id;
	size_t free_count;
	struct cgroup_free free[CGROUP_FREE_MAX];
	struct err why; /* why there are no limits */
};

/* The group of one sandbox. */
struct cgroup {
	uint32_t id;
	uint64_t oom_before; /* of earlier sandboxes */
	struct plan plan;
};

struct cgroup_facts {
	uint64_t oom_kills;
	uint64_t peak;
};

/* Finds what this user may use, makes our directories, and sweeps those of dead launchers. */
void cgroups_open(struct cgroups *groups);
void cgroups_close(struct cgroups *groups);

/* Makes the leaf that the inner half lives in; *ret_v2 (or -1) is the directory to clone into. */
int cgroups_leaf(struct cgroups *groups, int *ret_v2, struct err *err);

/* Lets the inner half bear sandboxes in v2: a clone into a group needs write access to the procs
 * file of the common ancestor, too. Limits stay ours. */
int cgroups_hand_over(const struct cgroups *groups, const struct idmap *map, struct err *err);

/* A group with the plan's limits. *ret_v2 (or -1) is the directory to clone into. */
int cgroup_take(struct cgroups *groups, const struct plan *plan, const struct idmap *map,
		struct cgroup *ret_group, int *ret_v2, struct err *err);

/* Puts a process into the v1 groups (into v2 it was born). */
int cgroup_attach(const struct cgroups *groups, const struct cgroup *group, pid_t pid,
		  struct err *err);

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
