// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "cli/history.h"
#include "unit.h"

static size_t count_of(const struct history *past)
{
	size_t count = 0;

	while (history_get(past, count + 1) != NULL)
		count++;
	return count;
}

static void lasts_and_keeps_lines_together(void **state)
{
	struct history past;
	struct stat info;
	char folder[64];
	char below[128];
	char file[160];

	(void)state;
	scratch_make(folder);
	(void)snprintf(below, sizeof(below), "%s/a/b", folder);
	(void)snprintf(file, sizeof(file), "%s/history", below);
	history_open(&past, below);
	history_add(&past, "first");
	history_add(&past, "def f():\n    return '\x01\xc3\xa9'");
	history_add(&past, "def f():\n    return '\x01\xc3\xa9'");
	history_add(&past, "");
	assert_int_equal(count_of(&past), 2);
	history_close(&past);
	assert_int_equal(stat(file, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);

	history_open(&past, below);
	assert_int_equal(count_of(&past), 2);
	assert_string_equal(history_get(&past, 2), "first");
	assert_string_equal(history_get(&past, 1), "def f():\n    return '\x01\xc3\xa9'");
	history_close(&past);
	scratch_remove(folder);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void skips_lines_that_are_none(void **state)
{
	struct history past;
	char folder[64];
	char file[128];

	(void)state;
	scratch_make(folder);
	(void)snprintf(file, sizeof(file), "%s/history", folder);
	write_file(file, "\"good\"\nnot json\n{\"a\":1}\n\"\xff\"\n\n\"also\"\n\"cut o");
	history_open(&past, folder);
	assert_int_equal(count_of(&past), 2);
	assert_string_equal(history_get(&past, 1), "also");
	history_close(&past);
	scratch_remove(folder);
}

static void follows_no_link(void **state)
{
	struct history past;
	char folder[64];
	char file[128];
	char target[128];
	struct stat info;

	(void)state;
	scratch_make(folder);
	(void)snprintf(file, sizeof(file), "%s/history", folder);
	(void)snprintf(target, sizeof(target), "%s/target", folder);
	write_file(target, "");
	assert_int_equal(symlink(target, file), 0);
	history_open(&past, folder);
	history_add(&past, "secret");
	assert_int_equal(count_of(&past), 1);
	history_close(&past);
	assert_int_equal(stat(target, &info), 0);
	assert_int_equal(info.st_size, 0);
	scratch_remove(folder);
}

static void a_long_file_is_cut_back(void **state)
{
	struct history past;
	char folder[64];
	char file[128];
	struct stat before, after;
	FILE *out = NULL;

	(void)state;
	scratch_make(folder);
	(void)snprintf(file, sizeof(file), "%s/history", folder);
	out = fopen(file, "w");
	assert_non_null(out);
	for (int i = 0; i < 5000; i++)
		assert_true(fprintf(out, "\"entry %d\"\n", i) > 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(stat(file, &before), 0);
	history_open(&past, folder);
	assert_int_equal(count_of(&past), 2000);
	assert_string_equal(history_get(&past, 1), "entry 4999");
	history_close(&past);
	assert_int_equal(stat(file, &after), 0);
	assert_true(after.st_size < before.st_size / 2);
	history_open(&past, folder);
	assert_int_equal(count_of(&past), 2000);
	history_close(&past);
	scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lasts_and_keeps_lines_together),
		cmocka_unit_test(skips_lines_that_are_none),
		cmocka_unit_test(follows_no_link),
		cmocka_unit_test(a_long_file_is_cut_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
