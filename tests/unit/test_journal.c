// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sched.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "journal_unit.h"

static void gives_back_what_was_appended(void **state)
{
	struct scene *scene = *state;
	struct journal_record record = {.type = JOURNAL_NOTE,
					.id = "run_x",
					.seq = 7,
					.marks = {1, 2, 3},
					.is_last = true,
					.t_us = 99,
					.data = "ab",
					.size = 2};
	char more_text[] = "cdef";
	struct iovec more[2] = {{more_text, 3}, {more_text + 3, 1}};
	struct journal_place place = {0};
	struct journal_record back = {0};

	assert_ok(journal_append(scene->journal, &record, more, 2, &place, &scene->err),
		  scene->err);
	assert_ok(journal_read(scene->journal, place, &back, &scene->err), scene->err);
	assert_int_equal(back.type, JOURNAL_NOTE);
	assert_string_equal(back.id, "run_x");
	assert_int_equal(back.seq, 7);
	assert_memory_equal(back.marks, record.marks, sizeof(back.marks));
	assert_true(back.is_last);
	assert_int_equal(back.t_us, 99);
	assert_int_equal(back.size, 6);
	assert_memory_equal(back.data, "abcdef", 6);
	assert_false(journal_next(scene->journal, &place));

	/* Without a time it gets one. */
	record.t_us = 0;
	record.size = 0;
	assert_ok(journal_append(scene->journal, &record, NULL, 0, &place, &scene->err),
		  scene->err);
	assert_ok(journal_read(scene->journal, place, &back, &scene->err), scene->err);
	assert_true(back.t_us > 1600000000000000ULL);
	assert_int_equal(back.size, 0);
}

static void replays_in_the_order_of_writing(void **state)
{
	struct scene *scene = *state;

	/* Several segments, and each time a little more behind what is there. */
	for (uint64_t seq = 1; seq <= 300; seq++) {
		(void)scene_append(scene, seq, seq * 7 % 3000);
		if (seq % 60 == 0) {
			scene_reopen(scene);
			assert_replayed(scene, 1, seq);
		}
	}
	assert_true(scene->last.segment > 3);
}

static void an_opened_segment_is_taken_up(void **state)
{
	struct scene *scene = *state;

	for (uint64_t seq = 1; seq <= 50; seq++) {
		assert_int_equal(scene_append(scene, seq, 10).segment, 1);
		scene_reopen(scene);
	}
	assert_int_equal(journal_disk(scene->journal), 64 * KIB);
}

static void walks_from_any_place_to_the_end(void **state)
{
	struct scene *scene = *state;
	struct journal_place places[200];

	for (uint64_t seq = 0; seq < 200; seq++)
		places[seq] = scene_append(scene, seq, 1000);
	for (size_t i = 0; i < 200; i++) {
		struct journal_place place = places[i];
		struct journal_record record = {0};

		for (uint64_t seq = i; seq < 200; seq++) {
			assert_ok(journal_read(scene->journal, place, &record, &scene->err),
				  scene->err);
			assert_int_equal(record.seq, seq);
			assert_int_equal(((const uint8_t *)record.data)[999], seq & 0xff);
			assert_int_equal(journal_next(scene->journal, &place), seq < 199);
		}
	}
}

static void a_place_that_is_none_is_refused(void **state)
{
	struct scene *scene = *state;
	struct journal_place place = scene_append(scene, 1, 100);
	struct journal_record record = {0};

	(void)scene_append(scene, 2, 100);
	place.at += 8;
	assert_int_equal(journal_read(scene->journal, place, &record, &scene->err), -ENOENT);
	place.at = UINT32_MAX;
	assert_int_equal(journal_read(scene->journal, place, &record, &scene->err), -ENOENT);
	place.segment = 77;
	assert_int_equal(journal_read(scene->journal, place, &record, &scene->err), -ENOENT);
	assert_false(journal_next(scene->journal, &place));
}

static void one_daemon_at_a_time(void **state)
{
	struct scene *scene = *state;
	struct journal *other = NULL;

	assert_int_equal(
		journal_open(scene->path, &scene->settings, NULL, NULL, &other, &scene->err),
		-EBUSY);
	assert_int_equal(scene->err.kind, ERR_BUSY);
	assert_null(other);
}

static void a_large_record_has_a_segment_of_its_size(void **state)
{
	struct scene *scene = *state;
	struct journal_record record = {.type = JOURNAL_EVENT, .id = "run_a"};
	struct journal_record back = {0};
	struct journal_place place;

	(void)scene_append(scene, 1, 100);
	place = scene_append(scene, 2, JOURNAL_RECORD_MAX);
	assert_int_equal(place.segment, 2);
	(void)scene_append(scene, 3, 100);
	assert_ok(journal_read(scene->journal, place, &back, &scene->err), scene->err);
	assert_int_equal(back.size, JOURNAL_RECORD_MAX);
	scene_reopen(scene);
	assert_replayed(scene, 1, 3);

	record.data = back.data; /* not looked at */
	record.size = JOURNAL_RECORD_MAX + 1UL;
	assert_int_equal(journal_append(scene->journal, &record, NULL, 0, &place, &scene->err),
			 -EMSGSIZE);
}

static void the_oldest_go_above_disk_max(void **state)
{
	struct scene *scene = *state;
	struct journal_place first;
	struct journal_record record = {0};

	scene->settings.disk_max = 256 * KIB;
	scene_reopen(scene);
	first = scene_append(scene, 1, 1000);
	for (uint64_t seq = 2; seq <= 1000; seq++) {
		(void)scene_append(scene, seq, 1000);
		assert_true(journal_disk(scene->journal) <= 256 * KIB);
	}
	assert_true(journal_first(scene->journal) > 10);
	assert_int_equal(journal_read(scene->journal, first, &record, &scene->err), -ENOENT);

	/* A reader whose place was dropped goes on with the oldest record. */
	assert_true(journal_next(scene->journal, &first));
	assert_int_equal(first.segment, journal_first(scene->journal));
	scene_reopen(scene);
	assert_replayed(scene, scene->seqs[0], 1000);
}

static void what_is_forgotten_leaves_no_file(void **state)
{
	struct scene *scene = *state;
	char path[128];
	uint32_t last = 0;

	for (uint64_t seq = 1; seq <= 300; seq++)
		last = scene_append(scene, seq, 1000).segment;
	journal_forget(scene->journal, last - 1);
	assert_int_equal(journal_first(scene->journal), last - 1);
	assert_int_equal(journal_disk(scene->journal), 2 * 64 * KIB);
	(void)snprintf(path, sizeof(path), "%s/%08x.segment", scene->path, last - 2);
	assert_int_equal(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/%08x.segment", scene->path, last - 1);
	assert_int_equal(access(path, F_OK), 0);

	/* The one that is written stays, and its number is never used again. */
	journal_forget(scene->journal, UINT32_MAX);
	assert_int_equal(journal_first(scene->journal), last);
	scene_reopen(scene);
	(void)scene_append(scene, 301, JOURNAL_RECORD_MAX);
	assert_int_equal(scene_append(scene, 302, 10000).segment, last + 2);
}

static void write_state(void *user, uint32_t segment)
{
	struct scene *scene = user;

	(void)scene_append(scene, 1000000 + segment, 100);
}

static void state_is_written_at_the_head_of_each_segment(void **state)
{
	struct scene *scene = *state;
	struct journal_place at = {0};
	struct journal_record record = {0};

	journal_on_segment(scene->journal, write_state, scene);
	for (uint64_t seq = 1; seq <= 300; seq++)
		(void)scene_append(scene, seq, 1000);
	/* A record too large for a segment still comes behind the state. */
	(void)scene_append(scene, 301, 100 * KIB);
	for (uint32_t segment = 1; segment <= 5; segment++) {
		at = (struct journal_place){segment, 32};
		assert_ok(journal_read(scene->journal, at, &record, &scene->err), scene->err);
		assert_int_equal(record.seq, 1000000 + segment);
	}
	scene_reopen(scene);
	assert_true(scene->count >= 307);
}

/* ---- a full disk ---- */

static void write_text(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* This process gets 1 MiB of disk of its own at `dir`. */
static void mount_small(const char *dir)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	char map[64];

	assert_int_equal(unshare(CLONE_NEWUSER | CLONE_NEWNS), 0);
	write_text("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	write_text("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	write_text("/proc/self/gid_map", map);
	assert_int_equal(mount("none", dir, "tmpfs", 0, "size=1m"), 0);
}

static void fill_disk(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char block[4096] = "";

	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
}

static void go_through_a_full_disk(struct scene *scene)
{
	struct journal_place place = {0};
	struct journal_record record = {0};
	char hog[80];

	journal_close(STEAL(scene->journal));
	mount_small(scene->dir);
	scene_reopen(scene);
	(void)scene_append(scene, 1, 1000);
	(void)snprintf(hog, sizeof(hog), "%s/hog", scene->dir);
	fill_disk(hog);

	/* Reserved space is there, and behind it comes memory. */
	assert_null(journal_why(scene->journal));
	for (uint64_t seq = 2; seq <= 2000; seq++)
		place = scene_append(scene, seq, 1000);
	assert_non_null(journal_why(scene->journal));
	assert_int_equal(journal_why(scene->journal)->num, ENOSPC);
	assert_int_equal(journal_disk(scene->journal), 64 * KIB);
	assert_ok(journal_read(scene->journal, place, &record, &scene->err), scene->err);
	assert_int_equal(record.seq, 2000);
	place = (struct journal_place){1, 32};
	for (uint64_t seq = 1; seq < 2000; seq++)
		assert_true(journal_next(scene->journal, &place));
	assert_false(journal_next(scene->journal, &place));

	/* More than memory may hold: the oldest of it goes. */
	for (uint64_t seq = 2001; seq <= 2100; seq++)
		(void)scene_append(scene, seq, MIB);
	assert_true(journal_first(scene->journal) == 1);
	place.segment = 2;
	assert_int_equal(journal_read(scene->journal, place, &record, &scene->err), -ENOENT);

	assert_int_equal(unlink(hog), 0);
	for (uint64_t seq = 2101; journal_why(scene->journal) != NULL; seq++)
		(void)scene_append(scene, seq, 1000);
	(void)scene_append(scene, 9999, 10);
	scene_reopen(scene);
	assert_int_equal(scene->seqs[0], 1);
	assert_int_equal(scene->seqs[scene->count - 1], 9999);
	journal_close(STEAL(scene->journal));
}

/* In a child: the mount is its own. A failed assertion there ends it by a signal. */
static void a_full_disk_turns_it_into_memory(void **state)
{
	struct scene *scene = *state;
	int status = 0;
	pid_t child;

	(void)setenv("CMOCKA_TEST_ABORT", "1", 1);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		go_through_a_full_disk(scene);
		_exit(0);
	}
	(void)unsetenv("CMOCKA_TEST_ABORT");
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(gives_back_what_was_appended),
		SCENE(replays_in_the_order_of_writing),
		SCENE(an_opened_segment_is_taken_up),
		SCENE(walks_from_any_place_to_the_end),
		SCENE(a_place_that_is_none_is_refused),
		SCENE(one_daemon_at_a_time),
		SCENE(a_large_record_has_a_segment_of_its_size),
		SCENE(the_oldest_go_above_disk_max),
		SCENE(what_is_forgotten_leaves_no_file),
		SCENE(state_is_written_at_the_head_of_each_segment),
		SCENE(a_full_disk_turns_it_into_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
