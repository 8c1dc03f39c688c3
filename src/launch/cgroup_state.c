// SPDX-License-Identifier: Apache-2.0
/* Queries and settings of a sandbox's group while the sandbox lives. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/cgroup.h"

#define PATH_SIZE 96

int cgroup_freeze(const struct cgroups *groups, struct cgroup *group, bool is_on, struct err *err)
{
	char path[PATH_SIZE];

	if (groups->tree[CGROUP_V2] < 0)
		return err_set(err, ERR_UNSUPPORTED, ENOTSUP, "no cgroup v2 for this user here");
	group->is_used_up = true;
	cgroup_path(path, sizeof(path), group->id, "cgroup.freeze");
	return io_write_file(groups->tree[CGROUP_V2], path, is_on ? "1" : "0", err);
}

bool cgroup_is_frozen(const struct cgroups *groups, const struct cgroup *group)
{
	char path[PATH_SIZE];

	cgroup_path(path, sizeof(path), group->id, "cgroup.events");
	return cgroup_number(groups->tree[CGROUP_V2], path, "frozen ") == 1;
}

void cgroup_spare_others(const struct cgroups *groups, struct cgroup *group)
{
	struct err ignored = {0};
	char path[PATH_SIZE];

	if (!groups->v2_limits)
		return;
	group->is_used_up = true;
	cgroup_path(path, sizeof(path), group->id, "memory.oom.group");
	(void)io_write_file(groups->tree[CGROUP_V2], path, "0", &ignored);
}

/* v2 counts the CPU time of every group, whatever its controllers. On v1 the cpu tree does, where
 * it is mounted together with cpuacct, as on most hosts. */
bool cgroup_cpu(const struct cgroups *groups, const struct cgroup *group, uint64_t *ret_us)
{
	char path[PATH_SIZE];

	if (groups->tree[CGROUP_V2] >= 0) {
		cgroup_path(path, sizeof(path), group->id, "cpu.stat");
		*ret_us = cgroup_number(groups->tree[CGROUP_V2], path, "usage_usec ");
		return true;
	}
	if (groups->tree[CGROUP_V1_CPU] < 0)
		return false;
	cgroup_path(path, sizeof(path), group->id, "cpuacct.usage");
	*ret_us = cgroup_number(groups->tree[CGROUP_V1_CPU], path, NULL) / 1000;
	return *ret_us > 0;
}

uint64_t cgroup_memory(const struct cgroups *groups, const struct cgroup *group)
{
	char path[PATH_SIZE];

	if (groups->v2_limits) {
		cgroup_path(path, sizeof(path), group->id, "memory.current");
		return cgroup_number(groups->tree[CGROUP_V2], path, NULL);
	}
	if (!groups->v1_limits)
		return 0;
	cgroup_path(path, sizeof(path), group->id, "memory.usage_in_bytes");
	return cgroup_number(groups->tree[CGROUP_V1_MEMORY], path, NULL);
}

/* v2 resets a peak only for the descriptor that asked for it (Linux 6.12), not for the file: there
 * the peak stays that of the sandbox's whole life. */
void cgroup_reset_peak(const struct cgroups *groups, const struct cgroup *group)
{
	struct err ignored = {0};
	char path[PATH_SIZE];

	if (!groups->v1_limits)
		return;
	cgroup_path(path, sizeof(path), group->id, "memory.max_usage_in_bytes");
	(void)io_write_file(groups->tree[CGROUP_V1_MEMORY], path, "0", &ignored);
}

int cgroup_open_meter(const struct cgroups *groups, const struct cgroup *group,
		      int ret_fds[LAUNCH_METER_COUNT], struct err *err)
{
	static const char *const files[][LAUNCH_METER_COUNT] = {
		{"cpu.stat", "memory.current", "memory.peak", "memory.events"},
		{"cpu.stat", "memory.usage_in_bytes", "memory.max_usage_in_bytes",
		 "memory.oom_control"},
	};
	const int memory = groups->tree[groups->v2_limits ? CGROUP_V2 : CGROUP_V1_MEMORY];
	char path[PATH_SIZE];

	if (groups->tree[CGROUP_V2] < 0 || (!groups->v2_limits && !groups->v1_limits))
		return err_set(err, ERR_UNSUPPORTED, ENOTSUP,
			       "this host has no cgroup that counts");
	for (size_t i = 0; i < LAUNCH_METER_COUNT; i++) {
		int tree = i == LAUNCH_METER_CPU ? groups->tree[CGROUP_V2] : memory;

		cgroup_path(path, sizeof(path), group->id, files[groups->v2_limits ? 0 : 1][i]);
		if (i == LAUNCH_METER_PEAK)
			ret_fds[i] = openat(tree, path, O_RDWR | O_CLOEXEC);
		if (ret_fds[i] < 0)
			ret_fds[i] = openat(tree, path, O_RDONLY | O_CLOEXEC);
		if (ret_fds[i] >= 0)
			continue;
		(void)err_sys(err, "open %s", path);
		for (size_t opened = 0; opened < i; opened++)
			drop_fd(&ret_fds[opened]);
		return -err->num;
	}
	return 0;
}

int cgroup_open_all(const struct cgroups *groups, const struct cgroup *group,
		    int ret_fds[1 + WALL_TASKS_MAX], size_t *ret_count, bool *ret_has_v2,
		    struct err *err)
{
	AUTO_CLOSE int v2 = -1;
	char path[PATH_SIZE];
	size_t count = 0;
	int r;

	cgroup_path(path, sizeof(path), group->id, "");
	if (groups->tree[CGROUP_V2] >= 0) {
		v2 = openat(groups->tree[CGROUP_V2], path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (v2 < 0)
			return err_sys(err, "open cgroup %s", path);
	}
	r = cgroup_open_tasks(groups, group, ret_fds + (v2 >= 0), &count, err);
	if (r < 0)
		return r;
	*ret_has_v2 = v2 >= 0;
	*ret_count = count + (v2 >= 0);
	if (v2 >= 0)
		ret_fds[0] = steal_fd(&v2);
	return 0;
}

int cgroup_list(const struct cgroups *groups, const struct cgroup *group, struct buf *text,
		struct err *err)
{
	char path[PATH_SIZE];

	cgroup_path(path, sizeof(path), group->id, "cgroup.procs");
	return io_read_file(groups->tree[CGROUP_V2], path, text, err);
}
