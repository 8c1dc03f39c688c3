// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/out_dir.h"
#include "unit.h"

struct place {
	char path[64];
	char out[80];
	struct out_dir dir;
};

/* Ours comes before libc's: a file system that knows no flags is played where a test asks for one.
 */
static bool is_rename_plain;

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	if (is_rename_plain && flags != 0) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

static int make_place(void **state)
{
	static struct place place;
	struct err err = {0};

	is_rename_plain = false;
	scratch_make(place.path);
	(void)snprintf(place.out, sizeof(place.out), "%s/out", place.path);
	assert_ok(out_dir_open(&place.dir, place.out, false, &err), err);
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

/* The same folder once more, as a second `viv run` opens it. */
static void open_again(struct place *place, bool may_replace)
{
	struct err err = {0};

	out_dir_close(&place->dir);
	assert_ok(out_dir_open(&place->dir, place->out, may_replace, &err), err);
}

static void plant(const struct place *place, const char *name, const char *text)
{
	char path[120];
	struct err err = {0};
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", place->path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_ok(io_write_all(fd, text, strlen(text), &err), err);
	(void)close(fd);
}

/* One file in one piece. */
static int put(struct place *place, const char *path, const char *text, struct err *err)
{
	return out_dir_piece(&place->dir, path, text, strlen(text), true, err);
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

	assert_int_equal(out_dir_piece(&place->dir, "/workspace/a/b/c.txt", "one ", 4, false, &err),
			 0);
	assert_int_equal(out_dir_piece(&place->dir, "/workspace/a/b/c.txt", "two", 3, true, &err),
			 1);
	assert_file(place, "out/a/b/c.txt", "one two");
	assert_int_equal(put(place, "/workspace/a/b/d.txt", "", &err), 1);
	assert_file(place, "out/a/b/d.txt", "");
}

static void a_taken_name_is_refused_and_what_is_there_kept(void **state)
{
	struct place *place = *state;
	struct err err = {0};

	plant(place, "out/Makefile", "theirs");
	assert_int_equal(put(place, "/workspace/Makefile", "mine", &err), -EEXIST);
	assert_file(place, "out/Makefile", "theirs");
	assert_int_equal(put(place, "/workspace/new", "first", &err), 1);
	assert_int_equal(put(place, "/workspace/new", "second", &err), -EEXIST);
	open_again(place, false);
	assert_int_equal(put(place, "/workspace/new", "third", &err), -EEXIST);
	assert_file(place, "out/new", "first");
	assert_int_equal(count_entries(place->out), 2);

	/* A folder may have the file's name, and a file the folder's. */
	assert_int_equal(put(place, "/workspace/d/x", "x", &err), 1);
	assert_int_equal(put(place, "/workspace/d", "x", &err), -EEXIST);
	assert_int_equal(put(place, "/workspace/new/x", "x", &err), -ENOTDIR);
	assert_int_equal(count_entries(place->out), 3);
}

/* Between the first piece and the last somebody else may take the name. */
static void a_name_that_is_taken_meanwhile_is_refused(void **state)
{
	struct place *place = *state;
	struct err err = {0};

	assert_int_equal(out_dir_piece(&place->dir, "x", "mine", 4, false, &err), 0);
	plant(place, "out/x", "theirs");
	assert_int_equal(out_dir_piece(&place->dir, "x", "mine", 4, true, &err), -EEXIST);
	assert_file(place, "out/x", "theirs");
	assert_int_equal(count_entries(place->out), 1);
}

/* On NFS there is no rename that refuses to replace. */
static void it_is_so_on_file_systems_without_that_rename(void **state)
{
	struct place *place = *state;
	struct err err = {0};

	is_rename_plain = true;
	assert_int_equal(out_dir_piece(&place->dir, "x", "mine", 4, false, &err), 0);
	plant(place, "out/x", "theirs");
	assert_int_equal(out_dir_piece(&place->dir, "x", "mine", 4, true, &err), -EEXIST);
	assert_file(place, "out/x", "theirs");
	assert_int_equal(put(place, "y", "mine", &err), 1);
	assert_file(place, "out/y", "mine");
	assert_int_equal(count_entries(place->out), 2);
}

static void overwrite_replaces_regular_files_alone(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	char path[120];

	plant(place, "out/x.txt", "old");
	plant(place, "victim", "kept");
	(void)snprintf(path, sizeof(path), "%s/link", place->out);
	assert_int_equal(symlink("../victim", path), 0);
	(void)snprintf(path, sizeof(path), "%s/pipe", place->out);
	assert_int_equal(mkfifo(path, 0600), 0);

	open_again(place, true);
	assert_int_equal(put(place, "x.txt", "new", &err), 1);
	assert_file(place, "out/x.txt", "new");
	assert_int_equal(put(place, "link", "new", &err), -EEXIST);
	assert_int_equal(put(place, "pipe", "new", &err), -EEXIST);
	assert_int_equal(put(place, ".bashrc", "new", &err), -EPERM);
	assert_int_equal(put(place, "vivarium.yaml", "new", &err), -EPERM);
	assert_file(place, "victim", "kept");
	assert_int_equal(count_entries(place->out), 3);
}

static void places_to_live_in_are_never_overwritten(void **state)
{
	struct place *place = *state;
	struct out_dir other = {.dir = -1, .file = -1, .parent = -1};
	char home[100];
	char below[120];
	struct err err = {0};
	const char *const refused[] = {".", "..", "/", "./../", home, place->path};

	(void)snprintf(home, sizeof(home), "%s/home", place->path);
	(void)snprintf(below, sizeof(below), "%s/results", home);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(setenv("HOME", home, 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (out_dir_open(&other, refused[i], true, &err) != -EPERM)
			fail_msg("--overwrite was taken for %s", refused[i]);
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
		assert_true(other.is_lived_in);
		out_dir_close(&other);
	}
	assert_ok(out_dir_open(&other, below, true, &err), err);
	out_dir_close(&other);
	assert_ok(out_dir_open(&other, home, false, &err), err);
	out_dir_close(&other);

	/* A home that does not exist is above nothing. */
	assert_int_equal(setenv("HOME", "/nonexistent/home", 1), 0);
	assert_ok(out_dir_open(&other, place->out, true, &err), err);
	assert_false(other.is_lived_in);
	out_dir_close(&other);
}

static void what_programs_obey_is_never_written(void **state)
{
	static const char *const bad[] = {
		"/workspace/.bashrc",
		".git/config",
		"a/.git/config",
		"a/.x/b",
		"..x",
		"...",
		"vivarium.yaml",
		"Vivarium.YAML",
		"a/vivarium.yaml",
		"HEAD",
		"a/b/HEAD",
		"HEAD/x",
	};
	static const char *const good[] = {
		"vivarium.yaml.txt", "my-vivarium.yaml", "HEADER", "a.b", "a./b", "x.", "config"};
	struct place *place = *state;
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (put(place, bad[i], "x", &err) != -EPERM)
			fail_msg("%s was taken", bad[i]);
	}
	assert_int_equal(count_entries(place->out), 0);
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_ok(put(place, good[i], "x", &err), err);
}

static void deep_paths_are_refused_before_a_folder_is_made(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	char path[2 * OUT_DEPTH_MAX + 8] = "";

	for (unsigned int i = 1; i < OUT_DEPTH_MAX; i++)
		(void)strcat(path, "d/");
	(void)strcat(path, "d/f");
	assert_int_equal(put(place, path, "x", &err), -ENAMETOOLONG);
	assert_int_equal(count_entries(place->out), 0);
	path[strlen(path) - 2] = '\0';
	assert_int_equal(put(place, path, "x", &err), 1);
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

static void links_are_never_followed(void **state)
{
	struct place *place = *state;
	char link[96];
	struct err err = {0};
	struct stat info;

	plant(place, "victim", "kept");
	(void)snprintf(link, sizeof(link), "%s/x.txt", place->out);
	assert_int_equal(symlink("../victim", link), 0);
	assert_int_equal(put(place, "x.txt", "new", &err), -EEXIST);
	assert_file(place, "victim", "kept");
	assert_int_equal(lstat(link, &info), 0);
	assert_true(S_ISLNK(info.st_mode));

	/* A dangling link, too: writing through it would make a file. */
	(void)snprintf(link, sizeof(link), "%s/y.txt", place->out);
	assert_int_equal(symlink("../fresh", link), 0);
	assert_int_equal(put(place, "y.txt", "new", &err), -EEXIST);

	/* A link where a folder should be is an error: nothing lands behind it. */
	(void)snprintf(link, sizeof(link), "%s/dir", place->out);
	assert_int_equal(symlink(place->path, link), 0);
	assert_true(put(place, "dir/z.txt", "new", &err) < 0);
	assert_int_equal(count_entries(place->path), 2);
}

/* Or the second half of a file would stand there as if it were the file. */
static void a_refusal_is_told_once_and_holds_to_the_last_piece(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	char path[120];

	plant(place, "out/x", "theirs");
	assert_int_equal(out_dir_piece(&place->dir, "x", "one", 3, false, &err), -EEXIST);
	(void)snprintf(path, sizeof(path), "%s/x", place->out);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(out_dir_piece(&place->dir, "x", "two", 3, false, &err), 0);
	assert_int_equal(out_dir_piece(&place->dir, "x", "three", 5, true, &err), 0);
	assert_int_equal(count_entries(place->out), 0);
	assert_int_equal(put(place, "x", "whole", &err), 1);
	assert_file(place, "out/x", "whole");
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

#define PLACE(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE(pieces_become_one_file),
		PLACE(a_taken_name_is_refused_and_what_is_there_kept),
		PLACE(a_name_that_is_taken_meanwhile_is_refused),
		PLACE(it_is_so_on_file_systems_without_that_rename),
		PLACE(overwrite_replaces_regular_files_alone),
		PLACE(places_to_live_in_are_never_overwritten),
		PLACE(what_programs_obey_is_never_written),
		PLACE(deep_paths_are_refused_before_a_folder_is_made),
		PLACE(names_cannot_lead_out),
		PLACE(links_are_never_followed),
		PLACE(a_refusal_is_told_once_and_holds_to_the_last_piece),
		PLACE(what_was_never_finished_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
