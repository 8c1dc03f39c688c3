// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "attempt.h"
#include "base/c.h"

static int mount_something(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(mount("tmpfs", "/workspace", "tmpfs", 0, NULL));
}

static int change_the_root(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(chroot("/workspace"));
}

static void privileged_calls_are_refused(void **state)
{
	(void)state;
	assert_int_equal(attempt(mount_something, NULL), 0);
	assert_int_equal(attempt(mount_something, &wall_caps), EPERM);
	assert_int_equal(attempt(change_the_root, NULL), 0);
	assert_int_equal(attempt(change_the_root, &wall_caps), EPERM);
}

static int ask_for_all_again(struct walls_input *input, const struct wall *wall)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct before[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, before) < 0)
		give_up("capget");
	put_up(wall, input);
	return tried(syscall(SYS_capset, &header, before));
}

static int raise_ambient(struct walls_input *input, const struct wall *wall)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		give_up("capget");
	data[0].inheritable = 1U << CAP_CHOWN;
	if (syscall(SYS_capset, &header, data) < 0)
		give_up("capset");
	put_up(wall, input);
	return tried(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0));
}

static int unlock_securebits(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(prctl(PR_SET_SECUREBITS, 0));
}

static int keep_capabilities_over_setuid(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(prctl(PR_SET_KEEPCAPS, 1));
}

static void nothing_comes_back(void **state)
{
	(void)state;
	assert_int_equal(attempt(ask_for_all_again, NULL), 0);
	assert_int_equal(attempt(ask_for_all_again, &wall_caps), EPERM);
	assert_int_equal(attempt(raise_ambient, NULL), 0);
	assert_int_equal(attempt(raise_ambient, &wall_caps), EPERM);
	assert_int_equal(attempt(unlock_securebits, NULL), 0);
	assert_int_equal(attempt(unlock_securebits, &wall_caps), EPERM);
	assert_int_equal(attempt(keep_capabilities_over_setuid, NULL), 0);
	assert_int_equal(attempt(keep_capabilities_over_setuid, &wall_caps), EPERM);
}

/* Returns how many of the five sets are empty in the kernel's own report, and 10 more when it says
 * no_new_privs. */
static int read_the_status(struct walls_input *input, const struct wall *wall)
{
	char line[128];
	FILE *status;
	int n = 0;

	put_up(wall, input);
	status = fopen("/proc/thread-self/status", "re");
	if (status == NULL)
		give_up("status");
	while (fgets(line, sizeof(line), status) != NULL) {
		if (strncmp(line, "Cap", 3) == 0 && strstr(line, ":\t0000000000000000\n") != NULL)
			n++;
		if (strcmp(line, "NoNewPrivs:\t1\n") == 0)
			n += 10;
	}
	(void)fclose(status);
	return n;
}

static void the_kernel_reports_five_empty_sets(void **state)
{
	(void)state;
	assert_int_not_equal(attempt(read_the_status, NULL), 15);
	assert_int_equal(attempt(read_the_status, &wall_caps), 15);
}

/* A process that may not drop its bounding set must not be taken for one that has. */
static int fail_without_setpcap(struct walls_input *input, const struct wall *wall)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	struct err err = {0};

	if (syscall(SYS_capset, &header, none) < 0)
		give_up("capset");
	return -wall->up(input, &err);
}

static void it_refuses_when_it_cannot_drop_all(void **state)
{
	(void)state;
	assert_int_equal(attempt(fail_without_setpcap, &wall_caps), EPERM);
}

static int put_up_twice(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	put_up(wall, input);
	return 0;
}

static void it_stands_behind_itself(void **state)
{
	(void)state;
	assert_int_equal(attempt(put_up_twice, &wall_caps), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(privileged_calls_are_refused),
		cmocka_unit_test(nothing_comes_back),
		cmocka_unit_test(the_kernel_reports_five_empty_sets),
		cmocka_unit_test(it_refuses_when_it_cannot_drop_all),
		cmocka_unit_test(it_stands_behind_itself),
	};

	return run_attempts("caps", tests, ARRAY_LEN(tests));
}
