// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/syscall.h>

#include "base/c.h"
#include "session/store.h"
#include "unit.h"

#define SESSION "ses_0123456789abcdefghjkmnpqrs"
#define STATE "cp_0123456789abcdefghjkmnpqrs"
#define RECORD "{\"token\":\"\"}"

/* ---- what reaches the kernel, in its order ---- */

static struct {
	char text[1024];
	pthread_t loop;
	bool is_loop_held; /* somebody waited for the disk in the loop's own thread */
	bool is_stuck;     /* folders cannot be renamed */
	int meta_errno;    /* why a meta cannot be written; 0: it can */
} seen;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *what, const char *name)
{
	size_t size = strlen(seen.text);

	(void)snprintf(seen.text + size, sizeof(seen.text) - size, "%s%s %s", size > 0 ? ", " : "",
		       what, name);
}

/* These two stand before those of libc. */
int fsync(int fd)
{
	char path[40], name[256] = "";
	const char *last = NULL;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(readlink(path, name, sizeof(name) - 1) > 0);
	last = strrchr(name, '/') + 1;
	r = (int)syscall(SYS_fsync, fd);
	(void)pthread_mutex_lock(&lock);
	seen.is_loop_held |= pthread_equal(pthread_self(), seen.loop) != 0;
	note("sync", strcmp(last, SESSION) == 0 ? "folder" : last);
	(void)pthread_mutex_unlock(&lock);
	return r;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	if (seen.is_stuck && strncmp(to, "gone_", 5) == 0) {
		errno = EIO;
		return -1;
	}
	if (seen.meta_errno != 0 && strcmp(to, "next") == 0) {
		errno = seen.meta_errno;
		return -1;
	}
	(void)pthread_mutex_lock(&lock);
	if (strncmp(to, "gone_", 5) != 0)
		note("name", strcmp(to, "vars-" STATE) == 0 ? "vars" : to);
	(void)pthread_mutex_unlock(&lock);
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

/* ---- a store with one session ---- */

struct fixture {
	char path[64];
	uv_loop_t loop;
	struct store *store;
	struct stored *stored;
	int fd;
	bool is_settled;
};

static void all_settled(void *user, const struct err *why)
{
	struct fixture *fixture = user;

	assert_null(why);
	fixture->is_settled = true;
	note("told", "all");
}

/* The file that was appended to is this state. */
static int name_state(struct fixture *fixture, const char *id, const char *text, struct err *err)
{
	struct store_state *state = xnew(struct store_state);
	struct buf record;
	int r;

	buf_init(&record, STORE_RECORD_MAX);
	buf_text(&record, text);
	(void)snprintf(state->id, sizeof(state->id), "%s", id);
	state->missing = xstrdup("[]");
	r = stored_end_state(fixture->stored, &fixture->fd, state, &record, err);
	buf_done(&record);
	return r;
}

static void end_state(void *user, const struct err *why)
{
	struct fixture *fixture = user;
	struct err err = {0};

	assert_null(why);
	assert_ok(name_state(fixture, STATE, RECORD, &err), err);
	stored_settle(fixture->stored, all_settled, fixture);
}

static void open_store(struct fixture *fixture)
{
	struct err err = {0};

	assert_ok(store_open(&fixture->loop, fixture->path, 1U << 20, 1U << 20, &fixture->store,
			     &err),
		  err);
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	seen.text[0] = '\0';
}

/* Writes the state of a session that has nothing on disk. */
static void write_state(struct fixture *fixture)
{
	struct err err = {0};

	fixture->stored = stored_new(fixture->store, SESSION, "");
	assert_ok(stored_begin(fixture->stored, &fixture->fd, &err), err);
	assert_ok(stored_append(fixture->stored, fixture->fd, 0, "bytes", 5, &err), err);
	assert_ok(stored_sync(fixture->stored, fixture->fd, end_state, fixture, &err), err);
}

static int set_up(void **state)
{
	struct fixture *fixture = xnew(struct fixture);

	fixture->fd = -1;
	seen.loop = pthread_self();
	seen.is_loop_held = seen.is_stuck = false;
	seen.meta_errno = 0;
	assert_int_equal(uv_loop_init(&fixture->loop), 0);
	scratch_make(fixture->path);
	open_store(fixture);
	write_state(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	drop_fd(&fixture->fd);
	store_close(fixture->store);
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	scratch_remove(fixture->path);
	free(fixture);
	return 0;
}

static bool take_found(void *user, struct stored *stored, const json_t *record)
{
	struct stored **found = user;

	assert_true(json_is_object(record));
	*found = stored;
	return true;
}

static void start_again(struct fixture *fixture)
{
	store_close(fixture->store);
	open_store(fixture);
	fixture->stored = NULL;
	store_scan(fixture->store, take_found, &fixture->stored);
}

/* ---- the tests ---- */

static void a_state_is_told_when_the_disk_has_it(void **state)
{
	struct fixture *fixture = *state;

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	assert_true(fixture->is_settled);
	assert_string_equal(seen.text, "sync new, name vars, name next, sync next, name meta, "
				       "sync folder, sync states, told all");
	assert_false(seen.is_loop_held);
}

static void what_changes_meanwhile_settles_as_well(void **state)
{
	struct fixture *fixture = *state;
	const char *settled = NULL;
	struct err err = {0};

	while (strstr(seen.text, "name next") == NULL)
		(void)uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_ok(stored_write(fixture->stored, &err), err);
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	assert_true(fixture->is_settled);
	/* Whether the first was on the disk before the second was written is the disk's affair. */
	settled = strstr(seen.text, "sync next, name meta, sync folder, sync states, told all");
	assert_non_null(settled);
	assert_null(strstr(settled, "name next"));
	assert_true(strstr(seen.text, "name meta") > settled);
}

/* The power went before the last change of the meta settled, and left nothing of its bytes. */
static void damage_of_the_last_change_leaves_the_one_before(void **state)
{
	struct fixture *fixture = *state;
	char path[160];
	int fd;

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	(void)snprintf(path, sizeof(path), "%s/states/" SESSION "/next", fixture->path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	start_again(fixture);
	assert_non_null(fixture->stored);
	assert_non_null(stored_find(fixture->stored, STATE));
	assert_int_equal(access(path, F_OK), -1);
}

/* A kill loses no change, though it had not settled. */
static void a_kill_before_it_settles_loses_nothing(void **state)
{
	struct fixture *fixture = *state;

	while (strstr(seen.text, "name next") == NULL)
		(void)uv_run(&fixture->loop, UV_RUN_ONCE);
	start_again(fixture);
	assert_non_null(fixture->stored);
	assert_non_null(stored_find(fixture->stored, STATE));
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	start_again(fixture);
	assert_non_null(stored_find(fixture->stored, STATE));
}

static void a_session_that_goes_meanwhile_is_told_nothing(void **state)
{
	struct fixture *fixture = *state;

	stored_remove(fixture->stored);
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	assert_false(fixture->is_settled);
	assert_string_equal(seen.text, "sync new");
}

/* ---- removals ---- */

/* How many folders there are. */
static int count_folders(const struct fixture *fixture)
{
	char path[96];
	const struct dirent *entry = NULL;
	DIR *list = NULL;
	int count = 0;

	(void)snprintf(path, sizeof(path), "%s/states", fixture->path);
	list = opendir(path);
	assert_non_null(list);
	while ((entry = readdir(list)) != NULL)
		count += entry->d_name[0] != '.';
	(void)closedir(list);
	return count;
}

/* A tick has little time, so a slow disk needs several. */
static void sweep(const struct fixture *fixture)
{
	for (int i = 0; i < 1000 && count_folders(fixture) > 0; i++)
		store_tick(fixture->store);
	assert_int_equal(count_folders(fixture), 0);
}

static void a_session_removed_twice_before_a_sweep_does_not_come_back(void **state)
{
	struct fixture *fixture = *state;

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	stored_remove(fixture->stored);
	write_state(fixture);
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	stored_remove(fixture->stored);
	start_again(fixture);
	assert_null(fixture->stored);
	sweep(fixture);
}

static void a_folder_that_cannot_be_renamed_is_removed_later(void **state)
{
	struct fixture *fixture = *state;

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	seen.is_stuck = true;
	stored_remove(fixture->stored);
	store_tick(fixture->store);
	assert_int_equal(count_folders(fixture), 1);
	seen.is_stuck = false;
	sweep(fixture);
}

static void a_folder_that_cannot_be_renamed_is_no_session_at_the_next_start(void **state)
{
	struct fixture *fixture = *state;

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	seen.is_stuck = true;
	stored_remove(fixture->stored);
	start_again(fixture);
	assert_null(fixture->stored);
	seen.is_stuck = false;
	sweep(fixture);
}

/* The session is kept again before the old folder could be removed. */
static void a_folder_that_is_used_again_is_not_removed(void **state)
{
	struct fixture *fixture = *state;

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	seen.is_stuck = true;
	stored_remove(fixture->stored);
	write_state(fixture);
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	seen.is_stuck = false;
	store_tick(fixture->store);
	start_again(fixture);
	assert_non_null(fixture->stored);
	assert_non_null(stored_find(fixture->stored, STATE));
}

/* ---- a full disk ---- */

#define OLDER "cp_0000000000abcdefghjkmnpqrs"

static void a_state_that_no_meta_names_is_not_there(void **state)
{
	struct fixture *fixture = *state;
	char path[160];
	struct err err = {0};

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	(void)snprintf(path, sizeof(path), "%s/states/" SESSION "/vars-" OLDER, fixture->path);
	seen.meta_errno = ENOSPC;
	assert_ok(stored_begin(fixture->stored, &fixture->fd, &err), err);
	assert_int_equal(name_state(fixture, OLDER, "{\"token\":\"new\"}", &err), -ENOSPC);
	assert_null(stored_find(fixture->stored, OLDER));
	assert_int_equal(fixture->stored->count, 1);
	assert_string_equal(fixture->stored->record, RECORD);
	assert_int_equal(access(path, F_OK), -1);
	/* The same state, once there is room. */
	seen.meta_errno = 0;
	assert_ok(stored_begin(fixture->stored, &fixture->fd, &err), err);
	assert_ok(name_state(fixture, OLDER, RECORD, &err), err);
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	start_again(fixture);
	assert_non_null(stored_find(fixture->stored, OLDER));
	assert_int_equal(fixture->stored->count, 2);
}

static void a_state_that_cannot_be_written_anew_stays_as_it_was(void **state)
{
	struct fixture *fixture = *state;
	struct err err = {0};

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	seen.meta_errno = ENOSPC;
	assert_ok(stored_begin(fixture->stored, &fixture->fd, &err), err);
	assert_int_equal(name_state(fixture, STATE, RECORD, &err), -ENOSPC);
	assert_non_null(stored_find(fixture->stored, STATE));
	assert_int_equal(fixture->stored->count, 1);
	seen.meta_errno = 0;
	start_again(fixture);
	assert_non_null(stored_find(fixture->stored, STATE));
}

static void note_dropped(void *user, const struct store_state *state)
{
	uint32_t *count = user;

	assert_string_equal(state->id, STATE);
	(*count)++;
}

/* Once the session was told that a state is gone, the state does not return. */
static void a_state_that_was_dropped_stays_gone(void **state)
{
	struct fixture *fixture = *state;
	uint32_t count = 0;
	struct err err = {0};

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	fixture->stored->dropping = note_dropped;
	fixture->stored->user = &count;
	seen.meta_errno = EIO;
	assert_ok(stored_drop(fixture->stored, stored_find(fixture->stored, STATE), &err), err);
	assert_int_equal(count, 1);
	assert_null(stored_find(fixture->stored, STATE));
	assert_int_equal(fixture->stored->count, 0);
	seen.meta_errno = 0;
	start_again(fixture);
	assert_non_null(fixture->stored);
	assert_null(stored_find(fixture->stored, STATE));
}

/* ---- the session's workspace ---- */

/* Writes a meta with two states: the older one has the files 1, the newer one, STATE, as told. */
static void put_meta(struct fixture *fixture, const char *newer, const char *more)
{
	static const char *const names[] = {"vars-" OLDER, "files-1", "files-2"};
	char path[160], text[1024];
	FILE *file = NULL;

	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/states/" SESSION "/%s", fixture->path,
			       names[i]);
		file = fopen(path, "we");
		assert_non_null(file);
		(void)fclose(file);
	}
	(void)snprintf(text, sizeof(text),
		       "{\"record\":" RECORD ",\"next\":3,\"states\":["
		       "{\"id\":\"" OLDER "\",\"created\":1,\"files\":1,\"has_files\":true},"
		       "{\"id\":\"" STATE "\",\"created\":2,%s}]%s,"
		       "\"files\":[{\"number\":1},{\"number\":2}]}",
		       newer, more);
	(void)snprintf(path, sizeof(path), "%s/states/" SESSION "/next", fixture->path);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) > 0);
	(void)fclose(file);
	start_again(fixture);
	assert_non_null(fixture->stored);
	assert_int_equal(fixture->stored->count, 2);
}

static void the_workspace_is_the_session_s_and_not_that_of_a_state(void **state)
{
	struct fixture *fixture = *state;
	struct err err = {0};

	put_meta(fixture, "\"files\":0,\"has_files\":true", ",\"workspace\":2");
	assert_int_equal(stored_workspace(fixture->stored, OLDER), 2);
	assert_int_equal(stored_workspace(fixture->stored, STATE), 2);
	/* No state has it, and it stays all the same, also when a state goes. */
	assert_ok(stored_drop(fixture->stored, stored_find(fixture->stored, OLDER), &err), err);
	stored_tidy(fixture->stored);
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	start_again(fixture);
	assert_null(stored_files(fixture->stored, 1));
	assert_non_null(stored_files(fixture->stored, 2));
	assert_int_equal(stored_workspace(fixture->stored, STATE), 2);
}

static void an_empty_workspace_is_known_to_be_empty(void **state)
{
	struct fixture *fixture = *state;

	put_meta(fixture, "\"files\":2,\"has_files\":true", ",\"workspace\":0");
	assert_true(fixture->stored->has_workspace);
	assert_int_equal(stored_workspace(fixture->stored, STATE), 0);
}

static void a_meta_of_an_older_version_has_the_workspace_of_its_state(void **state)
{
	struct fixture *fixture = *state;

	put_meta(fixture, "\"files\":2,\"has_files\":true", "");
	assert_false(fixture->stored->has_workspace);
	assert_int_equal(stored_workspace(fixture->stored, OLDER), 1);
	assert_int_equal(stored_workspace(fixture->stored, STATE), 2);
}

static void a_meta_of_an_older_version_has_the_newest_files_if_its_state_has_none(void **state)
{
	struct fixture *fixture = *state;

	put_meta(fixture, "\"files\":0,\"has_files\":false", "");
	assert_int_equal(stored_workspace(fixture->stored, STATE), 1);
	assert_int_equal(stored_workspace(fixture->stored, ""), 1);
}

static void a_workspace_whose_bytes_are_gone_is_not_known(void **state)
{
	struct fixture *fixture = *state;

	put_meta(fixture, "\"files\":2,\"has_files\":true", ",\"workspace\":7");
	assert_false(fixture->stored->has_workspace);
	assert_int_equal(stored_workspace(fixture->stored, STATE), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_state_is_told_when_the_disk_has_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_changes_meanwhile_settles_as_well, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(damage_of_the_last_change_leaves_the_one_before,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_kill_before_it_settles_loses_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_session_that_goes_meanwhile_is_told_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_session_removed_twice_before_a_sweep_does_not_come_back, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_renamed_is_removed_later,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_folder_that_cannot_be_renamed_is_no_session_at_the_next_start, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_folder_that_is_used_again_is_not_removed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_state_that_no_meta_names_is_not_there, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_state_that_cannot_be_written_anew_stays_as_it_was,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_state_that_was_dropped_stays_gone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			the_workspace_is_the_session_s_and_not_that_of_a_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_workspace_is_known_to_be_empty, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_meta_of_an_older_version_has_the_workspace_of_its_state, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_meta_of_an_older_version_has_the_newest_files_if_its_state_has_none,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_workspace_whose_bytes_are_gone_is_not_known,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
