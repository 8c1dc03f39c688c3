// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "policy/paths.h"
#include "unit.h"

static int make(void **state)
{
	char *directory = xcalloc(1, 64);

	scratch_make(directory);
	*state = directory;
	return 0;
}

static int end(void **state)
{
	scratch_remove(*state);
	free(*state);
	return 0;
}

static void the_runtime_directory_follows_the_environment(void **state)
{
	char path[PATHS_MAX], expected[PATHS_MAX];

	(void)state;
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "/tmp/7", 1), 0);
	path_runtime(path, sizeof(path));
	assert_string_equal(path, "/tmp/7/vivarium");

	/* A relative one is to be ignored, as none. */
	(void)snprintf(expected, sizeof(expected), "/tmp/vivarium-%u", (unsigned)geteuid());
	if (geteuid() == 0)
		(void)snprintf(expected, sizeof(expected), "/run/vivarium");
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "here", 1), 0);
	path_runtime(path, sizeof(path));
	assert_string_equal(path, expected);
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
	path_runtime(path, sizeof(path));
	assert_string_equal(path, expected);
}

static void root_has_no_runtime_directory_that_is_closed_to_its_daemon(void **state)
{
	const char *directory = *state;
	char path[PATHS_MAX], expected[PATHS_MAX], closed[PATHS_MAX];

	assert_int_equal(chmod(directory, 0700), 0);
	assert_false(path_can_enter(directory, (uid_t)-1, closed, sizeof(closed)));
	assert_string_equal(closed, directory);
	assert_true(path_can_enter(directory, geteuid(), closed, sizeof(closed)));

	assert_int_equal(setenv("XDG_RUNTIME_DIR", directory, 1), 0);
	(void)snprintf(expected, sizeof(expected), "%s/vivarium", directory);
	if (geteuid() == 0)
		(void)snprintf(expected, sizeof(expected), "/run/vivarium");
	path_runtime(path, sizeof(path));
	assert_string_equal(path, expected);

	assert_int_equal(chmod(directory, 0711), 0);
	(void)snprintf(expected, sizeof(expected), "%s/vivarium", directory);
	path_runtime(path, sizeof(path));
	assert_string_equal(path, expected);
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
}

static void a_private_directory_is_made_for_its_owner(void **state)
{
	char path[PATHS_MAX];
	struct err err = {0};
	struct stat info;

	(void)snprintf(path, sizeof(path), "%s/new", (const char *)*state);
	assert_ok(path_make_private(path, &err), err);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0700);
	assert_ok(path_make_private(path, &err), err);
	assert_int_equal(chmod(path, 0755), 0);
	assert_ok(path_make_private(path, &err), err);
}

static void a_directory_that_others_can_fill_is_refused(void **state)
{
	static const mode_t modes[] = {0770, 0707, 01777};
	char path[PATHS_MAX];

	(void)snprintf(path, sizeof(path), "%s/open", (const char *)*state);
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct err err = {0};

		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(path_make_private(path, &err), -EPERM);
		assert_contains(err.text, "chmod go-w");
	}
}

static void what_is_no_directory_of_ours_is_refused(void **state)
{
	char path[PATHS_MAX], link[PATHS_MAX];
	struct err err = {0};

	(void)snprintf(path, sizeof(path), "%s/mine", (const char *)*state);
	(void)snprintf(link, sizeof(link), "%s/link", (const char *)*state);
	assert_ok(path_make_private(path, &err), err);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(path_make_private(link, &err), -ENOTDIR);
	(void)snprintf(path, sizeof(path), "%s/no/such", (const char *)*state);
	assert_int_equal(path_make_private(path, &err), -ENOENT);

	/* The folder is another user's. Only root can make one. */
	if (geteuid() == 0) {
		(void)snprintf(path, sizeof(path), "%s/theirs", (const char *)*state);
		assert_int_equal(mkdir(path, 0700), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(path_make_private(path, &err), -EPERM);
		assert_contains(err.text, "belongs to uid 65534");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_runtime_directory_follows_the_environment),
		cmocka_unit_test_setup_teardown(
			root_has_no_runtime_directory_that_is_closed_to_its_daemon, make, end),
		cmocka_unit_test_setup_teardown(a_private_directory_is_made_for_its_owner, make,
						end),
		cmocka_unit_test_setup_teardown(a_directory_that_others_can_fill_is_refused, make,
						end),
		cmocka_unit_test_setup_teardown(what_is_no_directory_of_ours_is_refused, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
