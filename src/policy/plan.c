// SPDX-License-Identifier: Apache-2.0
#include "policy/plan.h"

#include <errno.h>
#include <inttypes.h>

#include "base/c.h"

static int check_range(const char *name, uint64_t value, uint64_t low, uint64_t high,
		       struct err *err)
{
	if (value >= low && value <= high)
		return 0;
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "plan: %s is %" PRIu64 ", allowed are %" PRIu64 " to %" PRIu64, name, value,
		       low, high);
}

int plan_check(const struct plan *plan, struct err *err)
{
	const struct {
		const char *name;
		uint64_t value, low, high;
	} rows[] = {
		{"version", plan->version, PLAN_VERSION, PLAN_VERSION},
		{"limits", plan->limits, LIMITS_CGROUP, LIMITS_MEASURED},
		{"memory", plan->memory, 16 * MIB, 1024 * GIB},
		{"disk", plan->disk, MIB / 16, 1024 * GIB},
		{"pids", plan->pids, 1, 65536},
		{"cpus_milli", plan->cpus_milli, 10, 1024000},
		{"files", plan->files, 16, 65536},
		{"shown", plan->shown, SHOWN_NOTHING, SHOWN_COUNT - 1},
		{"io", plan->io > 0 ? plan->io : PLAN_IO_MIN, PLAN_IO_MIN, 1024 * GIB},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int r = check_range(rows[i].name, rows[i].value, rows[i].low, rows[i].high, err);

		if (r < 0)
			return r;
	}
	return 0;
}

const char *wall_name(enum wall_id id)
{
	static const char *const names[WALL_COUNT] = {
		[WALL_USER] = "user",     [WALL_MOUNT] = "mount",       [WALL_PID] = "pid",
		[WALL_NET] = "net",       [WALL_IPC] = "ipc",           [WALL_UTS] = "uts",
		[WALL_CGROUP] = "cgroup", [WALL_FDS] = "fds",           [WALL_RLIMIT] = "rlimit",
		[WALL_CAPS] = "caps",     [WALL_LANDLOCK] = "landlock", [WALL_SECCOMP] = "seccomp",
	};

	return (size_t)id < WALL_COUNT ? names[id] : "unknown";
}
