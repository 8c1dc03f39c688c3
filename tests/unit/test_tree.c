// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/tree.h"
#include "unit.h"

#define FILES 2 /* in each folder */
#define STRANGER 65533

struct place {
	char path[64];
	int dir;
};

static int make(void **state)
{
	struct place *place = xnew(struct place);

	scratch_make(place->path);
	place->dir = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return place->dir < 0;
}

static int end(void **state)
{
	struct place *place = *state;

	drop_fd(&place->dir);
	scratch_remove(place->path);
	free(place);
	return 0;
}

static void make_file(int dir, const char *name)
{
	AUTO_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static void make_folder(int dir, const char *name)
{
	assert_int_equal(mkdirat(dir, name, 0700), 0);
}

static bool is_there(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void removes_files_folders_and_links_but_not_what_links_point_to(void **state)
{
	const struct place *place = *state;
	int dir = place->dir;

	make_folder(dir, "kept");
	make_file(dir, "kept/file");
	make_folder(dir, "tree");
	make_folder(dir, "tree/inner");
	make_file(dir, "tree/inner/file");
	make_file(dir, "tree/file");
	assert_int_equal(symlinkat("../kept", dir, "tree/link"), 0);
	assert_int_equal(mkfifoat(dir, "tree/pipe", 0600), 0);
	assert_int_equal(tree_remove(dir, "tree"), 0);
	assert_false(is_there(dir, "tree"));
	assert_true(is_there(dir, "kept/file"));

	/* A link, or a file, in the place of the folder goes itself. */
	assert_int_equal(symlinkat("kept", dir, "link"), 0);
	assert_int_equal(tree_remove(dir, "link"), 0);
	assert_int_equal(tree_remove(dir, "kept/file"), 0);
	assert_true(is_there(dir, "kept"));
	assert_int_equal(tree_remove(dir, "nowhere"), -ENOENT);
}

static void stops_where_folders_are_too_deep(void **state)
{
	const struct place *place = *state;
	AUTO_CLOSE int at = dup(place->dir);

	for (int i = 0; i < 200; i++) {
		int inner;

		make_folder(at, "a");
		inner = openat(at, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(inner >= 0);
		drop_fd(&at);
		at = inner;
	}
	assert_int_equal(tree_remove(place->dir, "a"), -ENOTEMPTY);
}

static void fill(int dir, const char *folder)
{
	char name[32];

	(void)mkdirat(dir, folder, 0700);
	for (int i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "%s/%d", folder, i);
		(void)mknodat(dir, name, S_IFREG | 0600, 0);
	}
}

static bool is_whole(int dir, const char *folder)
{
	bool is_whole = true;
	char name[32];

	for (int i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "%s/%d", folder, i);
		is_whole = is_whole && is_there(dir, name);
	}
	return is_whole;
}

/* A process that removes the tree, and stops before and after each of its system calls. */
static pid_t remove_in_steps(int dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		(void)tree_remove(dir, "tree");
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

/* Swaps a folder in the tree with a link to the victim at one of its stops, and back at a later
 * one. Returns how many stops there were. */
static int swap_at(int dir, int first, int second)
{
	pid_t pid = remove_in_steps(dir);
	int stops = 0;
	int status = 0;

	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (stops == first || stops == second)
			(void)renameat2(dir, "tree/a", dir, "link", RENAME_EXCHANGE);
		stops++;
		assert_return_code(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), errno);
	}
	return stops;
}

static void is_not_led_elsewhere_by_somebody_who_swaps_folders_for_links(void **state)
{
	const struct place *place = *state;
	int dir = place->dir;
	int stops = 1;

	/* From each stop on, for good and for one system call. */
	for (int first = 0; first < stops; first++) {
		for (int second = first; second <= first + 2; second += 2) {
			int seen;

			fill(dir, "victim");
			(void)mkdirat(dir, "tree", 0700);
			fill(dir, "tree/a");
			(void)symlinkat("../victim", dir, "link");
			seen = swap_at(dir, first, second);
			stops = seen > stops ? seen : stops;
			assert_true(is_whole(dir, "victim"));
			(void)tree_remove(dir, "tree");
			(void)tree_remove(dir, "link"); /* the link, or the folder in its place */
		}
	}
	assert_true(stops > 2 * FILES); /* each file took a call, and each call two stops */
}

static void root_uses_the_rights_of_the_folders_owner(void **state)
{
	const struct place *place = *state;
	int dir = place->dir;

	if (geteuid() != 0) {
		print_message("SKIP root_uses_the_rights_of_the_folders_owner: needs root\n");
		skip();
	}
	make_folder(dir, "tree");
	make_file(dir, "tree/own");
	make_folder(dir, "tree/roots");
	make_file(dir, "tree/roots/file");
	assert_int_equal(fchownat(dir, "tree", STRANGER, STRANGER, 0), 0);
	assert_int_equal(tree_remove(dir, "tree"), -ENOTEMPTY);
	assert_true(is_there(dir, "tree/roots/file"));
	assert_false(is_there(dir, "tree/own"));
	/* Root has its own rights back. */
	assert_int_equal(tree_remove(dir, "tree/roots"), 0);
	assert_int_equal(tree_remove(dir, "tree"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			removes_files_folders_and_links_but_not_what_links_point_to, make, end),
		cmocka_unit_test_setup_teardown(stops_where_folders_are_too_deep, make, end),
		cmocka_unit_test_setup_teardown(
			is_not_led_elsewhere_by_somebody_who_swaps_folders_for_links, make, end),
		cmocka_unit_test_setup_teardown(root_uses_the_rights_of_the_folders_owner, make,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
