// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/out_dir.h"
#include "unit.h"

struct place {
	char path[64];
	char out[80];
	struct out_dir dir;
};

static int make_place(void **state)
{
	static struct place place;
	struct err err = {0};

	scratch_make(place.path);
	(void)snprintf(place.out, sizeof(place.out), "%s/out", place.path);
	assert_ok(out_dir_open(&place.dir, place.out, &err), err);
	*state = &place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	out_dir_close(&place->dir);
	scratch_remove(place->path);
	return 0;
}

static void assert_file(const struct place *place, const char *name, const char *wanted)
{
	struct err err = {0};
	struct buf buf;
	int dir = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(dir >= 0);
	buf_init(&buf, 1000);
	assert_ok(io_read_file(dir, name, &buf, &err), err);
	assert_string_equal(buf_string(&buf), wanted);
	buf_done(&buf);
	(void)close(dir);
}

static size_t count_entries(const char *path)
{
	DIR *stream = opendir(path);
	size_t count = 0;

	assert_non_null(stream);
	while (readdir(stream) != NULL)
		count++;
	(void)closedir(stream);
	return count - 2;
}

static void pieces_become_one_file(void **state)
{
	struct place *place = *state;
	struct err err = {0};

	assert_ok(out_dir_piece(&place->dir, "/workspace/a/b/c.txt", "one ", 4, false, &err), err);
	assert_ok(out_dir_piece(&place->dir, "/workspace/a/b/c.txt", "two", 3, true, &err), err);
	assert_file(place, "out/a/b/c.txt", "one two");
	assert_ok(out_dir_piece(&place->dir, "/workspace/a/b/c.txt", "new", 3, true, &err), err);
	assert_file(place, "out/a/b/c.txt", "new");
}

static void names_cannot_lead_out(void **state)
{
	static const char *const bad[] = {
		"../x",   "/workspace/../x",
		"/etc/x", "/workspace/a/../../../x",
		"a//b",   "/workspace/",
		"",       ".",
		"..",     "a/.",
		"a/..",   "/",
	};
	struct place *place = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};

		if (out_dir_piece(&place->dir, bad[i], "x", 1, true, &err) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
	}
	assert_int_equal(count_entries(place->path), 1);
}

static void links_are_replaced_not_followed(void **state)
{
	struct place *place = *state;
	char victim[96];
	char link[96];
	struct err err = {0};
	struct stat info;
	int fd;

	(void)snprintf(victim, sizeof(victim), "%s/victim", place->path);
	fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_ok(io_write_all(fd, "kept", 4, &err), err);
	(void)close(fd);
	(void)snprintf(link, sizeof(link), "%s/x.txt", place->out);
	assert_int_equal(symlink(victim, link), 0);
	assert_ok(out_dir_piece(&place->dir, "x.txt", "new", 3, true, &err), err);
	assert_file(place, "victim", "kept");
	assert_file(place, "out/x.txt", "new");
	assert_int_equal(lstat(link, &info), 0);
	assert_true(S_ISREG(info.st_mode));

	/* A link where a folder should be is an error: nothing lands behind it. */
	(void)snprintf(link, sizeof(link), "%s/dir", place->out);
	assert_int_equal(symlink(place->path, link), 0);
	assert_true(out_dir_piece(&place->dir, "dir/y.txt", "new", 3, true, &err) < 0);
	assert_int_equal(count_entries(place->path), 2);
}

static void what_was_never_finished_is_not_there(void **state)
{
	struct place *place = *state;
	struct err err = {0};

	assert_ok(out_dir_piece(&place->dir, "half", "x", 1, false, &err), err);
	assert_ok(out_dir_piece(&place->dir, "whole", "y", 1, true, &err), err);
	assert_ok(out_dir_piece(&place->dir, "other", "z", 1, false, &err), err);
	out_dir_close(&place->dir);
	assert_int_equal(count_entries(place->out), 1);
	assert_file(place, "out/whole", "y");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pieces_become_one_file, make_place, remove_place),
		cmocka_unit_test_setup_teardown(names_cannot_lead_out, make_place, remove_place),
		cmocka_unit_test_setup_teardown(links_are_replaced_not_followed, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(what_was_never_finished_is_not_there, make_place,
						remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
