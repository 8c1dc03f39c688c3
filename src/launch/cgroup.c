// SPDX-License-Identifier: Apache-2.0
#include "launch/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"

#define CPU_PERIOD_US 100000
#define LEAF "launch" /* where the inner half and its zygotes are */
#define USED_AGAIN_MAX (2 * MIB)

/* One limit: a file of the sandbox's group and how its value comes from the plan. */
struct limit_row {
	enum cgroup_tree tree;
	const char *file;
	uint64_t (*value)(const struct plan *plan);
	const char *tail;    /* appended to the number */
	bool may_be_missing; /* a kernel without swap accounting has no file for it */
};

static uint64_t memory_value(const struct plan *plan)
{
	return plan->memory;
}

/* One more than the plan says: the shell's init is ours, not the user code's. */
static uint64_t pids_value(const struct plan *plan)
{
	return (uint64_t)plan->pids + 1;
}

static uint64_t cpu_value(const struct plan *plan)
{
	return (uint64_t)plan->cpus_milli * CPU_PERIOD_US / 1000;
}

static uint64_t zero_value(const struct plan *plan)
{
	(void)plan;
	return 0;
}

static uint64_t one_value(const struct plan *plan)
{
	(void)plan;
	return 1;
}

static const struct limit_row v2_limits[] = {
	{CGROUP_V2, "memory.max", memory_value, "", false},
	{CGROUP_V2, "memory.swap.max", zero_value, "", true},
	{CGROUP_V2, "memory.oom.group", one_value, "", false},
	{CGROUP_V2, "pids.max", pids_value, "", false},
	{CGROUP_V2, "cpu.max", cpu_value, " 100000", false},
};

static const struct limit_row v1_limits[] = {
	{CGROUP_V1_MEMORY, "memory.limit_in_bytes", memory_value, "", false},
	{CGROUP_V1_MEMORY, "memory.memsw.limit_in_bytes", memory_value, "", true},
	{CGROUP_V1_PIDS, "pids.max", pids_value, "", false},
	{CGROUP_V1_CPU, "cpu.cfs_quota_us", cpu_value, "", false},
};

void cgroup_path(char *path, size_t size, uint32_t id, const char *file)
{
	(void)snprintf(path, size, "g%u%s%s", id, file[0] != '\0' ? "/" : "", file);
}

static int write_limit(const struct cgroups *groups, uint32_t id, const struct limit_row *row,
		       const struct plan *plan, struct err *err)
{
	char path[96];
	char text[48];
	int r;

	cgroup_path(path, sizeof(path), id, row->file);
	(void)snprintf(text, sizeof(text), "%" PRIu64 "%s", row->value(plan), row->tail);
	r = io_write_file(groups->tree[row->tree], path, text, err);
	if (r == -ENOENT && row->may_be_missing)
		return 0;
	return r;
}

static int write_limits(const struct cgroups *groups, uint32_t id, const struct plan *plan,
			struct err *err)
{
	const struct limit_row *rows = groups->v2_limits ? v2_limits : v1_limits;
	size_t count = groups->v2_limits ? ARRAY_LEN(v2_limits) : ARRAY_LEN(v1_limits);

	if (!groups->v2_limits && !groups->v1_limits)
		return 0;
	for (size_t i = 0; i < count; i++) {
		int r = write_limit(groups, id, &rows[i], plan, err);

		if (r < 0)
			return r;
	}
	return 0;
}

uint64_t cgroup_number(int dir, const char *path, const char *key)
{
	uint64_t value = 0;

	(void)io_read_number(dir, path, key, &value);
	return value;
}

static int remove_group(const struct cgroups *groups, uint32_t id)
{
	char path[96];
	int r = 0;

	cgroup_path(path, sizeof(path), id, "");
	for (size_t i = 0; i < CGROUP_TREES; i++) {
		if (groups->tree[i] < 0)
			continue;
		if (unlinkat(groups->tree[i], path, AT_REMOVEDIR) < 0 && errno != ENOENT)
			r = -errno;
	}
	return r;
}

static int make_group(const struct cgroups *groups, uint32_t id, const struct plan *plan,
		      const struct idmap *map, struct err *err)
{
	char path[96];
	int r;

	cgroup_path(path, sizeof(path), id, "");
	for (size_t i = 0; i < CGROUP_TREES; i++) {
		if (groups->tree[i] < 0)
			continue;
		if (mkdirat(groups->tree[i], path, 0755) < 0)
			return err_sys(err, "make cgroup %s", path);
	}
	r = write_limits(groups, id, plan, err);
	if (r == 0 && plan->io > 0)
		r = cgroup_limit_reads(groups, id, plan->io, err);
	if (r < 0)
		return r;

	cgroup_path(path, sizeof(path), id, "cgroup.procs");
	if (groups->tree[CGROUP_V2] >= 0 && geteuid() == 0 &&
	    fchownat(groups->tree[CGROUP_V2], path, map->uid, map->gid, 0) < 0)
		return err_sys(err, "hand over cgroup %s", path);
	return 0;
}

/* Takes one of the same plan from the free list. */
static bool take_free(struct cgroups *groups, const struct plan *plan, struct cgroup *ret_group)
{
	for (size_t i = groups->free_count; i-- > 0;) {
		const struct cgroup_free *free_one = &groups->free[i];

		if (memcmp(&free_one->plan, plan, sizeof(*plan)) != 0)
			continue;
		*ret_group = (struct cgroup){
			.id = free_one->id, .oom_before = free_one->oom_kills, .plan = *plan};
		groups->free[i] = groups->free[--groups->free_count];
		return true;
	}
	return false;
}

int cgroup_take(struct cgroups *groups, const struct plan *plan, const struct idmap *map,
		struct cgroup *ret_group, int *ret_v2, struct err *err)
{
	struct cgroup group = {.plan = *plan};
	char path[96];
	int v2 = -1;
	int r;

	if (!take_free(groups, plan, &group)) {
		group.id = groups->next_id++;
		r = make_group(groups, group.id, plan, map, err);
		if (r < 0) {
			(void)remove_group(groups, group.id);
			return r;
		}
	}
	if (groups->tree[CGROUP_V2] >= 0) {
		cgroup_path(path, sizeof(path), group.id, "");
		v2 = openat(groups->tree[CGROUP_V2], path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (v2 < 0) {
			r = err_sys(err, "open cgroup %s", path);
			(void)remove_group(groups, group.id);
			return r;
		}
	}
	*ret_group = group;
	*ret_v2 = v2;
	return 0;
}

/* Opens `tasks`, not `cgroup.procs`: a thread that moves only itself takes no host-wide lock. With
 * `cgroup.procs` the first move in a while waits for a grace period, 6 ms and more. */
int cgroup_open_tasks(const struct cgroups *groups, const struct cgroup *group,
		      int ret_tasks[WALL_TASKS_MAX], size_t *ret_count, struct err *err)
{
	char path[96];
	size_t count = 0;

	cgroup_path(path, sizeof(path), group->id, "tasks");
	for (size_t i = CGROUP_V1_MEMORY; i < CGROUP_TREES; i++) {
		int fd;

		if (groups->tree[i] < 0)
			continue;
		fd = openat(groups->tree[i], path, O_WRONLY | O_CLOEXEC);
		if (fd < 0) {
			int r = err_sys(err, "open %s", path);

			while (count > 0)
				(void)close(ret_tasks[--count]);
			return r;
		}
		ret_tasks[count++] = fd;
	}
	*ret_count = count;
	return 0;
}

void cgroup_read(const struct cgroups *groups, const struct cgroup *group,
		 struct cgroup_facts *ret_facts)
{
	const int v2 = groups->tree[CGROUP_V2];
	const int v1 = groups->tree[CGROUP_V1_MEMORY];
	uint64_t kills = 0;
	char path[96];

	*ret_facts = (struct cgroup_facts){0};
	if (groups->v2_limits) {
		cgroup_path(path, sizeof(path), group->id, "memory.events");
		ret_facts->oom_kills = cgroup_number(v2, path, "oom_kill ");
		cgroup_path(path, sizeof(path), group->id, "memory.peak");
		ret_facts->peak = cgroup_number(v2, path, NULL);
	} else if (groups->v1_limits) {
		cgroup_path(path, sizeof(path), group->id, "memory.oom_control");
		kills = cgroup_number(v1, path, "oom_kill ");
		ret_facts->oom_kills = kills > group->oom_before ? kills - group->oom_before : 0;
		cgroup_path(path, sizeof(path), group->id, "memory.max_usage_in_bytes");
		ret_facts->peak = cgroup_number(v1, path, NULL);
	}
}

void cgroup_kill(const struct cgroups *groups, const struct cgroup *group)
{
	struct err ignored = {0};
	char path[96];

	if (groups->tree[CGROUP_V2] < 0)
		return;
	cgroup_path(path, sizeof(path), group->id, "cgroup.kill");
	(void)io_write_file(groups->tree[CGROUP_V2], path, "1", &ignored);
}

/* Is the group as good as new? It must have no process and almost no memory still charged to it,
 * such as files being freed and cached names. */
static bool is_clean(const struct cgroups *groups, const struct cgroup *group)
{
	char path[96];

	cgroup_path(path, sizeof(path), group->id, "memory.usage_in_bytes");
	if (cgroup_number(groups->tree[CGROUP_V1_MEMORY], path, NULL) > USED_AGAIN_MAX)
		return false;
	if (groups->tree[CGROUP_V2] < 0)
		return true;
	cgroup_path(path, sizeof(path), group->id, "cgroup.events");
	return cgroup_number(groups->tree[CGROUP_V2], path, "populated ") == 0;
}

/* With v2 limits a group is used once: its peak cannot be reset for all readers, and a process born
 * into a group that was once killed dies at once (seen on Linux 6.18). */
void cgroup_give(struct cgroups *groups, const struct cgroup *group)
{
	struct cgroup_facts facts;
	struct err ignored = {0};
	char path[96];

	cgroup_path(path, sizeof(path), group->id, "memory.max_usage_in_bytes");
	if (groups->v1_limits && !group->is_used_up && groups->free_count < CGROUP_FREE_MAX &&
	    is_clean(groups, group) &&
	    io_write_file(groups->tree[CGROUP_V1_MEMORY], path, "0", &ignored) == 0) {
		cgroup_read(groups, group, &facts);
		groups->free[groups->free_count++] = (struct cgroup_free){
			.id = group->id,
			.oom_kills = facts.oom_kills + group->oom_before,
			.plan = group->plan,
		};
		return;
	}
	if (remove_group(groups, group->id) < 0) {
		/* A process that the pid namespace did not hold is still in the group: end it. */
		cgroup_kill(groups, group);
		(void)remove_group(groups, group->id);
	}
}

int cgroups_leaf(struct cgroups *groups, int *ret_v2, struct err *err)
{
	*ret_v2 = -1;
	if (groups->tree[CGROUP_V2] < 0)
		return 0;
	if (mkdirat(groups->tree[CGROUP_V2], LEAF, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make cgroup " LEAF);
	*ret_v2 = openat(groups->tree[CGROUP_V2], LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_v2 < 0)
		return err_sys(err, "open cgroup " LEAF);
	return 0;
}

int cgroups_hand_over(const struct cgroups *groups, const struct idmap *map, struct err *err)
{
	int v2 = groups->tree[CGROUP_V2];

	if (v2 < 0 || geteuid() != 0)
		return 0;
	if (fchownat(v2, "cgroup.procs", map->uid, map->gid, 0) < 0)
		return err_sys(err, "hand over %s", groups->name);
	return 0;
}

uint32_t cgroups_task_count(const struct cgroups *groups)
{
	uint32_t count = 0;

	for (size_t i = CGROUP_V1_MEMORY; i < CGROUP_TREES; i++)
		count += groups->tree[i] >= 0;
	return count;
}

enum launch_limits cgroups_limits(const struct cgroups *groups)
{
	if (groups->v2_limits)
		return LAUNCH_LIMITS_V2;
	return groups->v1_limits ? LAUNCH_LIMITS_V1 : LAUNCH_LIMITS_MEASURED;
}
