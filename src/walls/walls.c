// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sched.h>

#include "base/c.h"
#include "walls/wall.h"

/*
 * The order is the design; it is written nowhere else.
 *
 * - enter first: the shell's namespaces, mounts and cgroup were made by launch; this joins them,
 *   and it is the last step that needs a capability over them.
 * - caps next: entering a user namespace hands out every capability in it, and taking them away
 *   needs one of them. All that follows works without; it also sets no_new_privs, without which
 *   landlock and seccomp are refused to an unprivileged process.
 * - landlock after entering: its rules name inodes of the new root, and it opens them.
 * - fds after landlock: nothing that enter or landlock opened outlives it, and no wall after it
 *   opens anything. Failures up to here can still be told on a descriptor that is closed now.
 * - rlimit after fds: lifting descriptors out of the way needs numbers a small limit does not have.
 * - seccomp last: it forbids the calls every other wall is built with.
 */
static const struct wall *const walls[] = {
	&wall_enter, &wall_caps, &wall_landlock, &wall_fds, &wall_rlimit, &wall_seccomp,
};

/* All walls but enter's seven are on their own, so the table must have this many entries. */
_Static_assert(ARRAY_LEN(walls) == WALL_SECCOMP - WALL_FDS + 2, "a wall is missing from the table");

/* Repeats the caller's checks, because the caller is another program. */
static int check_input(const struct walls_input *input, struct err *err)
{
	int r = plan_check(&input->plan, err);

	if (r < 0)
		return r;
	if (input->is_measured && input->plan.limits == LIMITS_CGROUP)
		return err_set(
			err, ERR_UNSUPPORTED, EOPNOTSUPP,
			"the policy asks for `limits: cgroup` and this host gives no cgroup; "
			"`viv doctor` names the command that does");

	/*
	 * Capabilities, landlock and seccomp are per thread, and a second thread would keep what
	 * this one gives up; through memory shared with another process it could be rewritten.
	 * unshare(CLONE_VM) changes nothing and fails in both cases (man 2 unshare).
	 */
	if (unshare(CLONE_VM) < 0)
		return err_sys(err, "walls go up in a process of one thread with its own memory");
	return 0;
}

int walls_up(const struct walls_input *input, struct walls_report *report, struct err *err)
{
	uint32_t all = WALLS_ALL;
	int r = check_input(input, err);

	if (r < 0)
		return r;

	report->up = 0;
	report->landlock_abi = landlock_abi_used(input->landlock_abi);
	report->shown = input->plan.shown;
	for (size_t i = 0; i < ARRAY_LEN(walls); i++) {
		const struct wall *wall = walls[i];

		r = wall->up(input, err);
		if (r < 0)
			return err_wrap(err, "wall %s", wall->name);

		report->up |= wall->ids;
	}

	/* A cgroup namespace without limits hides something, but confines nothing. */
	if (input->is_measured) {
		all &= ~(1U << WALL_CGROUP);
		report->up &= all;
	}
	if (report->up != all)
		return err_set(err, ERR_INTERNAL, EPERM, "walls 0x%x are up, not 0x%x", report->up,
			       all);
	return 0;
}
