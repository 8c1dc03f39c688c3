// SPDX-License-Identifier: Apache-2.0
/*
 * Every step of every wall is made to fail, and some are made to lie: to report success without
 * having done anything. No wall may count itself as up then.
 */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "attempt.h"
#include "base/c.h"

#define ANY UINT32_MAX

static const struct fault {
	const struct wall *wall;
	const char *call;
	uint32_t first; /* only when the first argument is this, or ANY */
	int gives;      /* what the call returns as errno; 0: a lie */
	int expected;   /* what the wall returns */
} faults[] = {
	{&wall_caps, "prctl", PR_SET_SECUREBITS, EIO, EIO},
	{&wall_caps, "prctl", PR_CAPBSET_DROP, EIO, EPERM},
	{&wall_caps, "prctl", PR_CAP_AMBIENT, EIO, EIO},
	{&wall_caps, "prctl", PR_SET_NO_NEW_PRIVS, EIO, EIO},
	{&wall_caps, "capset", ANY, EIO, EIO},
	{&wall_caps, "capget", ANY, EIO, EIO},
	{&wall_caps, "prctl", PR_SET_SECUREBITS, 0, EPERM},
	{&wall_caps, "prctl", PR_CAPBSET_DROP, 0, EPERM},
	{&wall_caps, "prctl", PR_SET_NO_NEW_PRIVS, 0, EPERM},
	{&wall_caps, "capset", ANY, 0, EPERM},
	{&wall_landlock, "landlock_create_ruleset", ANY, EIO, EIO},
	{&wall_landlock, "landlock_add_rule", ANY, EIO, EIO},
	{&wall_landlock, "landlock_restrict_self", ANY, EIO, EIO},
	{&wall_landlock, "openat", ANY, EIO, EIO},
	{&wall_fds, "fcntl", ANY, EIO, EIO},
	{&wall_fds, "dup3", ANY, EIO, EIO},
	{&wall_fds, "close_range", ANY, EIO, EIO},
	{&wall_fds, "getcwd", ANY, EIO, EIO},
	{&wall_fds, "close_range", ANY, 0, EBADF},
	{&wall_rlimit, "prlimit64", ANY, EIO, EIO},
	{&wall_seccomp, "seccomp", ANY, EIO, EIO},
	{&wall_seccomp, "seccomp", ANY, 0, EPERM},
};

static void inject(const struct fault *fault)
{
	int number = seccomp_syscall_resolve_name(fault->call);
	uint32_t action = SCMP_ACT_ERRNO((unsigned)fault->gives);
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	/* The room has the capability to load a filter, so that no_new_privs stays for the wall. */
	if (context == NULL || seccomp_attr_set(context, SCMP_FLTATR_CTL_NNP, 0) < 0)
		give_up("context");
	if (fault->first == ANY)
		r = seccomp_rule_add(context, action, number, 0);
	else
		r = seccomp_rule_add(context, action, number, 1,
				     SCMP_A0(SCMP_CMP_EQ, fault->first));
	if (r < 0 || seccomp_load(context) < 0)
		give_up("load");
	seccomp_release(context);
}

/* In a process for each, since a filter stays. Returns what the wall did. */
static int put_up_with(const struct fault *fault, const struct walls_input *input)
{
	struct err err = {0};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		/* landlock and seccomp stand behind caps, which lets them. */
		if (fault->wall != &wall_caps && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			give_up("no_new_privs");
		inject(fault);
		_exit(-fault->wall->up(input, &err));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		give_up("fork");
	return WEXITSTATUS(status);
}

static int break_every_step(struct walls_input *input, const struct wall *wall)
{
	int r = 0;

	(void)wall;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		const struct fault *fault = &faults[i];
		int got = put_up_with(fault, input);

		if (got == fault->expected)
			continue;
		(void)fprintf(stderr, "wall %s with %s (%u) giving %d: %d, expected %d\n",
			      fault->wall->name, fault->call, fault->first, fault->gives, got,
			      fault->expected);
		r = 1;
	}
	return r;
}

static void a_step_that_fails_or_lies_fails_its_wall(void **state)
{
	(void)state;
	assert_int_equal(attempt(break_every_step, NULL), 0);
}

/* Without a fault each of them stands: the faults above are what makes the difference. */
static int stand(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return 0;
}

static void without_a_fault_each_stands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		assert_int_equal(attempt(stand, faults[i].wall), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_that_fails_or_lies_fails_its_wall),
		cmocka_unit_test(without_a_fault_each_stands),
	};

	return run_attempts("faults", tests, ARRAY_LEN(tests));
}
