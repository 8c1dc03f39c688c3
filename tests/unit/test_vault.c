// SPDX-License-Identifier: Apache-2.0
/* A folder of the host that clients read and write by name. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "vault_unit.h"

/* ---- names ---- */

static void takes_a_path_apart(void **state)
{
	struct place *place = *state;
	static const struct {
		const char *asked, *path;
	} cases[] = {
		{"a.json", "a.json"},
		{"a/b/c.md", "a/b/c.md"},
		{"./a//b/./c", "a/b/c"},
		{"a/../b", "b"},
		{"a/b/../../c", "c"},
		{"", ""},
		{".", ""},
		{"a/..", ""},
		{"...", "..."},
		{"..a/b..", "..a/b.."},
		{"\xc3\xa4/\xe2\x82\xac", "\xc3\xa4/\xe2\x82\xac"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[VAULT_PATH_SIZE];
		struct err err = {0};

		assert_ok(vault_path(&place->vault, cases[i].asked, true, path, &err), err);
		assert_string_equal(path, cases[i].path);
	}
}

static void knows_its_own_absolute_name(void **state)
{
	struct place *place = *state;
	char asked[160];
	char path[VAULT_PATH_SIZE];
	struct err err = {0};

	(void)snprintf(asked, sizeof(asked), "%s/a/b.txt", place->root);
	assert_ok(vault_path(&place->vault, asked, true, path, &err), err);
	assert_string_equal(path, "a/b.txt");
	assert_ok(vault_path(&place->vault, place->root, true, path, &err), err);
	assert_string_equal(path, "");
	assert_ok(vault_path(&place->vault, "/a/b.txt", false, path, &err), err);
	assert_string_equal(path, "a/b.txt");
}

static void refuses_paths_that_lead_out(void **state)
{
	struct place *place = *state;
	static const char *const asked[] = {
		"..", "../x", "a/../../x", "a/b/../../../x", "./..", "/etc/passwd", "//etc", "/",
	};
	char path[VAULT_PATH_SIZE] = "untouched";
	char sibling[200];
	struct err err = {0};

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		assert_int_equal(vault_path(&place->vault, asked[i], true, path, &err), -EPERM);
		assert_int_equal(err.kind, ERR_FORBIDDEN);
	}
	/* The name of the vault is the beginning of its neighbour's. */
	(void)snprintf(sibling, sizeof(sibling), "%s/secret.txt", place->sibling);
	assert_int_equal(vault_path(&place->vault, sibling, true, path, &err), -EPERM);
	assert_int_equal(vault_path(&place->vault, "../vault_evil/secret.txt", false, path, &err),
			 -EPERM);
	assert_string_equal(path, "untouched");
}

static void refuses_what_is_no_name(void **state)
{
	struct place *place = *state;
	char path[VAULT_PATH_SIZE];
	char long_text[2048] = "";
	struct err err = {0};

	assert_int_equal(vault_path(&place->vault, "a\nb", true, path, &err), -EINVAL);
	assert_int_equal(vault_path(&place->vault, "\x1b[2J", true, path, &err), -EINVAL);
	assert_int_equal(vault_path(&place->vault, "\x7f", true, path, &err), -EINVAL);
	assert_int_equal(vault_path(&place->vault, VAULT_TEMP "x", true, path, &err), -EPERM);
	memset(long_text, 'a', 256);
	assert_int_equal(vault_path(&place->vault, long_text, true, path, &err), -ENAMETOOLONG);
	for (size_t i = 0; i < sizeof(long_text) - 2; i += 2)
		memcpy(long_text + i, "a/", 2);
	assert_int_equal(vault_path(&place->vault, long_text, true, path, &err), -ENAMETOOLONG);
	long_text[2 * VAULT_DEPTH_MAX] = '\0';
	assert_ok(vault_path(&place->vault, long_text, true, path, &err), err);
}

/* ---- files ---- */

static void writes_and_reads_back(void **state)
{
	struct place *place = *state;
	struct err err = {0};

	assert_ok(put(place, "a/b/c.txt", VAULT_CREATE, "one", &err), err);
	assert_content(place, "a/b/c.txt", "one");
	assert_int_equal(put(place, "a/b/c.txt", VAULT_CREATE, "two", &err), -EEXIST);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_ok(put(place, "a/b/c.txt", VAULT_WRITE, "three", &err), err);
	assert_content(place, "a/b/c.txt", "three");
	assert_ok(put(place, "a/b/c.txt", VAULT_UPDATE, "", &err), err);
	assert_content(place, "a/b/c.txt", "");
	assert_int_equal(put(place, "a/none", VAULT_UPDATE, "x", &err), -ENOENT);
	assert_int_equal(put(place, "none/x", VAULT_ADD, "x", &err), -ENOENT);
	assert_int_equal(read_one(place, "none", &err), -ENOENT);
	assert_int_equal(read_one(place, "a/b/c.txt/x", &err), -ENOENT);
	assert_int_equal(put(place, "a/b/c.txt/x", VAULT_WRITE, "x", &err), -ENOTDIR);
	assert_int_equal(temp_count(place->root), 0);
}

static void keeps_the_mode_and_lets_others_read(void **state)
{
	struct place *place = *state;
	char path[160];
	struct stat status;
	struct err err = {0};
	mode_t mask = umask(077);

	assert_ok(put(place, "d/x", VAULT_WRITE, "x", &err), err);
	(void)umask(mask);
	(void)snprintf(path, sizeof(path), "%s/d/x", place->root);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0644);
	assert_int_equal(chmod(path, 0600), 0);
	assert_ok(put(place, "d/x", VAULT_WRITE, "y", &err), err);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	(void)snprintf(path, sizeof(path), "%s/d", place->root);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0755);
}

static void a_folder_is_no_file(void **state)
{
	struct place *place = *state;
	struct err err = {0};

	assert_ok(vault_make_folder(&place->vault, "d", &err), err);
	assert_int_equal(vault_make_folder(&place->vault, "d", &err), -EEXIST);
	assert_int_equal(vault_make_folder(&place->vault, "none/d", &err), -ENOENT);
	assert_int_equal(read_one(place, "d", &err), -EISDIR);
	assert_int_equal(read_one(place, "", &err), -EISDIR);
	assert_int_equal(put(place, "d", VAULT_WRITE, "x", &err), -EISDIR);
	assert_int_equal(put(place, "", VAULT_WRITE, "x", &err), -EISDIR);
	assert_int_equal(vault_remove(&place->vault, "d", false, &err), -EISDIR);
	assert_int_equal(vault_remove(&place->vault, "", true, &err), -EPERM);
}

static void what_is_too_large_is_refused_both_ways(void **state)
{
	struct place *place = *state;
	char path[160];
	struct err err = {0};
	char *large = calloc(1, VAULT_FILE_MAX + 1);

	assert_non_null(large);
	assert_int_equal(
		vault_put(&place->vault, "x", VAULT_WRITE, large, VAULT_FILE_MAX + 1, &err),
		-EFBIG);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	assert_ok(vault_put(&place->vault, "x", VAULT_WRITE, large, VAULT_FILE_MAX, &err), err);
	assert_ok(read_one(place, "x", &err), err);
	(void)snprintf(path, sizeof(path), "%s/x", place->root);
	assert_int_equal(truncate(path, VAULT_FILE_MAX + 1), 0);
	assert_int_equal(read_one(place, "x", &err), -EFBIG);
	free(large);
}

static void removes_files_and_trees(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	char path[200];

	assert_ok(put(place, "a/b/c", VAULT_WRITE, "x", &err), err);
	assert_ok(put(place, "a/b/d/e", VAULT_WRITE, "x", &err), err);
	(void)snprintf(path, sizeof(path), "%s/a/out", place->root);
	assert_int_equal(symlink(place->sibling, path), 0);
	assert_ok(vault_remove(&place->vault, "a/b/c", false, &err), err);
	assert_int_equal(vault_remove(&place->vault, "a/b/c", false, &err), -ENOENT);
	assert_ok(vault_remove(&place->vault, "a", true, &err), err);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(temp_count(place->root), 0);
	/* The link went, what it points to did not. */
	(void)snprintf(path, sizeof(path), "%s/secret.txt", place->sibling);
	assert_int_equal(access(path, F_OK), 0);
}

/* ---- opening ---- */

static void a_vault_that_cannot_be_written_is_refused(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	int status = 0;
	pid_t child;

	assert_true(vault_prepare("/nonexistent/deep/vault", &err) < 0);
	assert_contains(err.text, "install -d -o ");

	assert_int_equal(chmod(place->base, 0755), 0);
	assert_int_equal(chmod(place->root, 0555), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && (setegid(65534) < 0 || seteuid(65534) < 0))
			_exit(3);
		_exit(vault_prepare(place->root, &err) < 0 &&
				      strstr(err.text, "read and write") != NULL
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(place->root, 0755), 0);
}

/* ---- walks ---- */

struct told {
	char text[4096];
	int count;
};

static int note(void *user, const struct vault_entry *entry)
{
	struct told *told = user;
	size_t at = strlen(told->text);

	told->count++;
	if (at + strlen(entry->path) + 4 < sizeof(told->text))
		(void)snprintf(told->text + at, sizeof(told->text) - at, "%s%s ",
			       entry->kind == VAULT_FOLDER_OVER ? "-" : "", entry->path);
	return 0;
}

static void tells_in_order_and_leaves_out_what_is_hidden(void **state)
{
	struct place *place = *state;
	struct told told = {0};
	struct vault_walk walk = {.tell = note, .user = &told};
	char path[160];
	bool is_cut = true;
	struct err err = {0};

	assert_ok(put(place, "b.txt", VAULT_WRITE, "", &err), err);
	assert_ok(put(place, "A.txt", VAULT_WRITE, "", &err), err);
	assert_ok(put(place, "a/z", VAULT_WRITE, "", &err), err);
	assert_ok(put(place, "c/y", VAULT_WRITE, "", &err), err);
	assert_ok(put(place, ".hidden/x", VAULT_WRITE, "", &err), err);
	(void)snprintf(path, sizeof(path), "%s/link", place->root);
	assert_int_equal(symlink(place->sibling, path), 0);

	assert_ok(vault_each(&place->vault, "", &walk, &is_cut, &err), err);
	assert_string_equal(told.text, "A.txt a a/z -a b.txt c c/y -c ");
	assert_false(is_cut);
	told = (struct told){0};
	walk.order = VAULT_FOLDERS_FIRST;
	assert_ok(vault_each(&place->vault, "", &walk, &is_cut, &err), err);
	assert_string_equal(told.text, "a a/z -a c c/y -c A.txt b.txt ");
	told = (struct told){0};
	assert_ok(vault_each(&place->vault, "c", &walk, &is_cut, &err), err);
	assert_string_equal(told.text, "c/y ");
	assert_int_equal(vault_each(&place->vault, "link", &walk, &is_cut, &err), -EPERM);
	assert_int_equal(vault_each(&place->vault, "b.txt", &walk, &is_cut, &err), -ENOTDIR);
	assert_int_equal(vault_each(&place->vault, "none", &walk, &is_cut, &err), -ENOENT);
}

static void says_when_there_is_more(void **state)
{
	struct place *place = *state;
	struct told told = {0};
	struct vault_walk walk = {.tell = note, .user = &told, .entries_max = 3};
	bool is_cut = false;
	struct err err = {0};
	char path[200];

	for (int i = 0; i < 5; i++) {
		(void)snprintf(path, sizeof(path), "f%d", i);
		assert_ok(put(place, path, VAULT_WRITE, "", &err), err);
	}
	assert_ok(vault_each(&place->vault, "", &walk, &is_cut, &err), err);
	assert_true(is_cut);
	assert_int_equal(told.count, 3);

	/* Deeper than anybody may write: made on the host. */
	(void)snprintf(path, sizeof(path), "%s", place->root);
	for (int i = 0; i < 2 * VAULT_DEPTH_MAX; i++) {
		(void)strcat(path, "/d");
		assert_int_equal(mkdir(path, 0755), 0);
	}
	walk.entries_max = 0;
	assert_ok(vault_each(&place->vault, "", &walk, &is_cut, &err), err);
	assert_true(is_cut);
	assert_ok(vault_remove(&place->vault, "d", true, &err), err);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(takes_a_path_apart),
		ONE(knows_its_own_absolute_name),
		ONE(refuses_paths_that_lead_out),
		ONE(refuses_what_is_no_name),
		ONE(writes_and_reads_back),
		ONE(keeps_the_mode_and_lets_others_read),
		ONE(a_folder_is_no_file),
		ONE(what_is_too_large_is_refused_both_ways),
		ONE(removes_files_and_trees),
		ONE(a_vault_that_cannot_be_written_is_refused),
		ONE(tells_in_order_and_leaves_out_what_is_hidden),
		ONE(says_when_there_is_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
