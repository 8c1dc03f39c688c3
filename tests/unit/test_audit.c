// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "obs/audit.h"
#include "unit.h"

#define ABC_SHA256 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

struct desk {
	char directory[64];
	char path[80], old[80];
	struct audit *audit;
	unsigned warnings;
	uint64_t told_lost;
	struct err told;
};

static const struct audit_run example = {
	.run = "run_1",
	.session = NULL,
	.token = "alice",
	.peer = "127.0.0.1",
	.op = "run",
	.policy = "default",
	.runtime = "base",
	.sha256 = ABC_SHA256,
	.verdict = "ok",
	.exit_code = 3,
	.state = "none",
	.queue_ms = 0.25,
	.wall_ms = 12.5,
	.cpu_ms = 3,
	.peak_memory = 5ULL << 32,
	.output_bytes = 2,
};

static void warn(void *user, const struct err *err, uint64_t lost)
{
	struct desk *desk = user;

	desk->warnings++;
	desk->told_lost = lost;
	desk->told = *err;
}

static int make(void **state)
{
	struct desk *desk = xnew(struct desk);
	const struct audit_calls calls = {.warn = warn, .user = desk};
	struct err err = {0};

	scratch_make(desk->directory);
	(void)snprintf(desk->path, sizeof(desk->path), "%s/audit.jsonl", desk->directory);
	(void)snprintf(desk->old, sizeof(desk->old), "%s/audit.1", desk->directory);
	assert_ok(audit_open(desk->path, &calls, &desk->audit, &err), err);
	*state = desk;
	return 0;
}

static int end(void **state)
{
	struct desk *desk = *state;

	audit_close(desk->audit);
	scratch_remove(desk->directory);
	free(desk);
	return 0;
}

/* Every line of the file as an object; fails when one is none. */
static json_t *lines_of(const char *path)
{
	json_t *lines = json_array();
	struct err err = {0};
	struct buf text;
	char *rest = NULL;
	AUTO_FREE char *copy = NULL;

	buf_init(&text, 32 * MIB);
	assert_ok(io_read_file(AT_FDCWD, path, &text, &err), err);
	assert_true(text.size == 0 || text.data[text.size - 1] == '\n');
	copy = strdup(buf_string(&text));
	for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		json_t *object = json_loads(line, 0, NULL);

		if (!json_is_object(object))
			fail_msg("no object: %.200s", line);
		assert_int_equal(json_array_append_new(lines, object), 0);
	}
	buf_done(&text);
	return lines;
}

static const char *member(const json_t *lines, size_t i, const char *name)
{
	return json_string_value(json_object_get(json_array_get(lines, i), name));
}

static void a_line_says_who_ran_what_and_how_it_ended(void **state)
{
	struct desk *desk = *state;
	json_auto_t *lines = NULL;
	const json_t *line, *usage;
	int64_t peak;

	audit_put(desk->audit, &example);
	lines = lines_of(desk->path);
	assert_int_equal(json_array_size(lines), 1);
	line = json_array_get(lines, 0);
	assert_string_equal(member(lines, 0, "run"), "run_1");
	assert_true(json_is_null(json_object_get(line, "session")));
	assert_string_equal(member(lines, 0, "token"), "alice");
	assert_string_equal(member(lines, 0, "peer"), "127.0.0.1");
	assert_string_equal(member(lines, 0, "op"), "run");
	assert_string_equal(member(lines, 0, "policy"), "default");
	assert_string_equal(member(lines, 0, "runtime"), "base");
	assert_string_equal(member(lines, 0, "sha256"), ABC_SHA256);
	assert_string_equal(member(lines, 0, "verdict"), "ok");
	assert_string_equal(member(lines, 0, "state"), "none");
	assert_int_equal(json_integer_value(json_object_get(line, "exit_code")), 3);
	assert_null(json_object_get(line, "code"));
	usage = json_object_get(line, "usage");
	assert_true(json_number_value(json_object_get(usage, "queue_ms")) == 0.25);
	assert_true(json_number_value(json_object_get(usage, "wall_ms")) == 12.5);
	peak = json_integer_value(json_object_get(usage, "peak_memory"));
	assert_true(peak == (int64_t)(5ULL << 32));
}

static void the_time_is_now_with_milliseconds(void **state)
{
	struct desk *desk = *state;
	json_auto_t *lines = NULL;
	struct tm parts = {0};
	time_t before = time(NULL);
	const char *rest;

	audit_put(desk->audit, &example);
	lines = lines_of(desk->path);
	rest = strptime(member(lines, 0, "time"), "%Y-%m-%dT%H:%M:%S", &parts);
	assert_non_null(rest);
	assert_int_equal(strlen(rest), strlen(".123Z"));
	assert_true(rest[0] == '.' && rest[4] == 'Z');
	assert_true(timegm(&parts) >= before && timegm(&parts) <= time(NULL));
}

static void the_file_is_for_its_owner_only(void **state)
{
	struct desk *desk = *state;
	struct stat info;

	assert_int_equal(stat(desk->path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
}

static void code_is_there_only_when_given_and_cut(void **state)
{
	struct desk *desk = *state;
	struct audit_run run = example;
	AUTO_FREE char *large = xcalloc(1, AUDIT_CODE_MAX + 2);
	json_auto_t *lines = NULL;

	run.code = "print(\"\xff\n\")";
	run.code_size = 11;
	audit_put(desk->audit, &run);
	memset(large, 1, AUDIT_CODE_MAX + 1); /* six bytes each, escaped */
	run.code = large;
	run.code_size = AUDIT_CODE_MAX + 1;
	audit_put(desk->audit, &run);
	run.token = "";
	run.code = NULL;
	audit_put(desk->audit, &run);

	lines = lines_of(desk->path);
	assert_int_equal(json_array_size(lines), 3);
	assert_string_equal(member(lines, 0, "code"), "print(\"\xef\xbf\xbd\n\")");
	assert_null(json_object_get(json_array_get(lines, 0), "code_cut"));
	assert_int_equal(strlen(member(lines, 1, "code")), AUDIT_CODE_MAX);
	assert_true(json_is_true(json_object_get(json_array_get(lines, 1), "code_cut")));
	assert_null(json_object_get(json_array_get(lines, 2), "code"));
	assert_true(json_is_null(json_object_get(json_array_get(lines, 2), "token")));
	assert_int_equal(audit_lost(desk->audit), 0);
}

static void rotation_is_rename_and_reopen(void **state)
{
	struct desk *desk = *state;
	struct audit_run second = example;
	struct err err = {0};
	json_auto_t *old = NULL;
	json_auto_t *new = NULL;

	second.run = "run_2";
	audit_put(desk->audit, &example);
	assert_int_equal(rename(desk->path, desk->old), 0);
	audit_put(desk->audit, &second);
	assert_ok(audit_reopen(desk->audit, &err), err);
	audit_put(desk->audit, &second);
	old = lines_of(desk->old);
	new = lines_of(desk->path);
	assert_int_equal(json_array_size(old), 2);
	assert_int_equal(json_array_size(new), 1);
	the_file_is_for_its_owner_only(state);
}

static void a_reopen_that_fails_goes_on_in_the_old_file(void **state)
{
	struct desk *desk = *state;
	struct err err = {0};
	json_auto_t *old = NULL;

	assert_int_equal(rename(desk->path, desk->old), 0);
	assert_int_equal(mkdir(desk->path, 0700), 0);
	assert_int_equal(audit_reopen(desk->audit, &err), -EISDIR);
	assert_contains(err.text, desk->path);
	audit_put(desk->audit, &example);
	old = lines_of(desk->old);
	assert_int_equal(json_array_size(old), 1);
}

/* A limit on the size of files stands for a full disk: half a line is taken, then none. */
static void a_full_disk_loses_whole_lines_and_says_so_once(void **state)
{
	struct desk *desk = *state;
	struct rlimit before, small;
	struct stat info;
	json_auto_t *lines = NULL;
	json_auto_t *after = NULL;

	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	audit_put(desk->audit, &example);
	assert_int_equal(stat(desk->path, &info), 0);
	small = (struct rlimit){.rlim_cur = (rlim_t)info.st_size * 2 - 20,
				.rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 3; i++)
		audit_put(desk->audit, &example);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);

	assert_int_equal(audit_lost(desk->audit), 3);
	assert_int_equal(desk->warnings, 1);
	assert_int_equal(desk->told_lost, 1);
	assert_contains(desk->told.text, desk->path);
	lines = lines_of(desk->path);
	assert_int_equal(json_array_size(lines), 1);
	audit_put(desk->audit, &example);
	after = lines_of(desk->path);
	assert_int_equal(json_array_size(after), 2);
}

static void a_device_that_is_full_loses_lines_too(void **state)
{
	struct desk *desk = *state;
	const struct audit_calls calls = {.warn = warn, .user = desk};
	struct audit *full = NULL;
	struct err err = {0};

	assert_ok(audit_open("/dev/full", &calls, &full, &err), err);
	audit_put(full, &example);
	audit_put(full, &example);
	assert_int_equal(audit_lost(full), 2);
	assert_int_equal(desk->warnings, 1);
	assert_int_equal(desk->told.num, ENOSPC);
	audit_close(full);
	audit_close(NULL);
}

/* The pipe has no reader: a blocking open or write would never come back. */
static void a_pipe_in_its_place_holds_up_nobody(void **state)
{
	struct desk *desk = *state;
	const struct audit_calls calls = {0};
	AUTO_CLOSE int reader = -1;
	struct audit *piped = NULL;
	struct err err = {0};

	assert_int_equal(mkfifo(desk->old, 0600), 0);
	assert_int_equal(audit_open(desk->old, &calls, &piped, &err), -ENXIO);
	reader = open(desk->old, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	assert_ok(audit_open(desk->old, &calls, &piped, &err), err);
	for (int i = 0; i < 1000; i++)
		audit_put(piped, &example);
	assert_true(audit_lost(piped) > 0);
	audit_close(piped);
}

static void refuses_a_place_that_is_not_there(void **state)
{
	const struct audit_calls calls = {0};
	struct audit *audit = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(audit_open("/nowhere/audit.jsonl", &calls, &audit, &err), -ENOENT);
	assert_contains(err.text, "/nowhere/audit.jsonl");
}

static void the_sum_is_sha256(void **state)
{
	char text[AUDIT_SHA256_SIZE];

	(void)state;
	audit_sha256("abc", 3, text);
	assert_string_equal(text, ABC_SHA256);
	audit_sha256("", 0, text);
	assert_memory_equal(text, "e3b0c44298fc1c14", 16);
}

static bool wants_all(void *user, const char *line, size_t size)
{
	(void)user;
	(void)line;
	(void)size;
	return true;
}

static void put_numbered(struct desk *desk, int number)
{
	struct audit_run run = example;
	char id[16];

	(void)snprintf(id, sizeof(id), "run_%04d", number);
	run.run = id;
	audit_put(desk->audit, &run);
}

/* The newest lines are always there, in order, and the two files keep to the limit. */
static void it_is_bounded_and_keeps_the_newest(void **state)
{
	struct desk *desk = *state;
	char old[100];
	struct stat status;
	struct err err = {0};

	(void)snprintf(old, sizeof(old), "%s.1", desk->path);
	audit_limit(desk->audit, 4096);
	for (int i = 0; i < 200; i++) {
		char first[16], last[16];
		struct buf lines;
		int count = i + 1 < 5 ? i + 1 : 5;

		put_numbered(desk, i);
		assert_int_equal(stat(desk->path, &status), 0);
		assert_true(status.st_size > 0 && status.st_size <= 4096);
		buf_init(&lines, MIB);
		assert_ok(audit_tail(desk->audit, (size_t)count, wants_all, NULL, &lines, &err),
			  err);
		(void)snprintf(first, sizeof(first), "run_%04d", i + 1 - count);
		(void)snprintf(last, sizeof(last), "run_%04d", i);
		assert_contains(buf_string(&lines), first);
		assert_contains(buf_string(&lines), last);
		assert_true(strstr(buf_string(&lines), first) <= strstr(buf_string(&lines), last));
		buf_done(&lines);
	}
	assert_int_equal(stat(old, &status), 0);
	assert_true(status.st_size <= 4096 && (status.st_mode & 0777) == 0600);
	assert_int_equal(audit_lost(desk->audit), 0);
	assert_int_equal(unlink(old), 0);
}

/* Killed between the two steps: the name is free, and what was written is in the other. */
static void a_name_that_is_missing_is_an_empty_log(void **state)
{
	struct desk *desk = *state;
	char old[100];
	struct buf lines;
	struct err err = {0};

	(void)snprintf(old, sizeof(old), "%s.1", desk->path);
	put_numbered(desk, 1);
	assert_int_equal(rename(desk->path, old), 0);
	buf_init(&lines, MIB);
	assert_ok(audit_tail(desk->audit, 5, wants_all, NULL, &lines, &err), err);
	assert_contains(buf_string(&lines), "run_0001");
	buf_done(&lines);
	/* A file that another program has renamed keeps its name. */
	audit_limit(desk->audit, 1);
	put_numbered(desk, 2);
	buf_init(&lines, MIB);
	assert_ok(audit_tail(desk->audit, 5, wants_all, NULL, &lines, &err), err);
	assert_contains(buf_string(&lines), "run_0001");
	assert_contains(buf_string(&lines), "run_0002");
	buf_done(&lines);
	assert_int_equal(unlink(old), 0);
}

static void what_cannot_be_renamed_grows_on(void **state)
{
	struct desk *desk = *state;
	char old[100];
	struct stat status;

	(void)snprintf(old, sizeof(old), "%s.1", desk->path);
	assert_int_equal(mkdir(old, 0700), 0);
	audit_limit(desk->audit, 1);
	put_numbered(desk, 1);
	put_numbered(desk, 2);
	put_numbered(desk, 3);
	assert_int_equal(stat(desk->path, &status), 0);
	assert_true(status.st_size > 600);
	assert_int_equal(audit_lost(desk->audit), 0);
	assert_int_equal(desk->warnings, 1);
	assert_contains(desk->told.text, "rename the audit log");
	assert_int_equal(rmdir(old), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_line_says_who_ran_what_and_how_it_ended, make,
						end),
		cmocka_unit_test_setup_teardown(it_is_bounded_and_keeps_the_newest, make, end),
		cmocka_unit_test_setup_teardown(a_name_that_is_missing_is_an_empty_log, make, end),
		cmocka_unit_test_setup_teardown(what_cannot_be_renamed_grows_on, make, end),
		cmocka_unit_test_setup_teardown(the_time_is_now_with_milliseconds, make, end),
		cmocka_unit_test_setup_teardown(the_file_is_for_its_owner_only, make, end),
		cmocka_unit_test_setup_teardown(code_is_there_only_when_given_and_cut, make, end),
		cmocka_unit_test_setup_teardown(rotation_is_rename_and_reopen, make, end),
		cmocka_unit_test_setup_teardown(a_reopen_that_fails_goes_on_in_the_old_file, make,
						end),
		cmocka_unit_test_setup_teardown(a_full_disk_loses_whole_lines_and_says_so_once,
						make, end),
		cmocka_unit_test_setup_teardown(a_device_that_is_full_loses_lines_too, make, end),
		cmocka_unit_test_setup_teardown(a_pipe_in_its_place_holds_up_nobody, make, end),
		cmocka_unit_test(refuses_a_place_that_is_not_there),
		cmocka_unit_test(the_sum_is_sha256),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
