// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "journal_unit.h"
#include "session/segment.h"

#define KILLS 200

/* ---- damage ---- */

static void path_of(const struct scene *scene, uint32_t number, char path[128])
{
	(void)snprintf(path, 128, "%s/" SEGMENT_NAME, scene->path, number);
}

/* Closes the journal and opens the file of a segment. */
static int break_open(struct scene *scene, uint32_t number)
{
	char path[128];
	int fd;

	journal_close(STEAL(scene->journal));
	path_of(scene, number, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void write_at(int fd, uint64_t at, const void *data, size_t size)
{
	assert_int_equal(pwrite(fd, data, size, (off_t)at), size);
}

static void put_file(const struct scene *scene, const char *name, const char *text)
{
	char path[128];
	FILE *file = NULL;

	(void)snprintf(path, sizeof(path), "%s/%s", scene->path, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* 60 to a segment, so 1-60 lie in the first, 61-120 in the second, and so on. */
static void fill(struct scene *scene, uint64_t from, uint64_t to)
{
	for (uint64_t seq = from; seq <= to; seq++)
		(void)scene_append(scene, seq, 1000);
}

static void foreign_files_do_not_stop_the_start(void **state)
{
	struct scene *scene = *state;
	char path[128];

	fill(scene, 1, 10);
	journal_close(STEAL(scene->journal));
	put_file(scene, "README", "hello");
	put_file(scene, "new", "a segment that never was");
	put_file(scene, "00000002.segment", "");
	put_file(scene, "00000003.segment", "this is no segment, but long enough to have a head");
	put_file(scene, "ffffffff.segment", "");
	put_file(scene, "2.segment", "");
	(void)snprintf(path, sizeof(path), "%s/00000004.segment", scene->path);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/00000005.segment", scene->path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	(void)snprintf(path, sizeof(path), "%s/00000006.segment", scene->path);
	assert_int_equal(mkfifo(path, 0600), 0);

	scene_reopen(scene);
	assert_replayed(scene, 1, 10);
	/* Their numbers stay theirs. */
	assert_int_equal(scene_append(scene, 11, 10).segment, 7);
	scene_reopen(scene);
	assert_replayed(scene, 1, 11);
}

static void another_version_is_left_alone(void **state)
{
	struct scene *scene = *state;
	uint32_t version = SEGMENT_VERSION + 1;
	AUTO_CLOSE int fd = -1;
	char path[128];

	fill(scene, 1, 100);
	fd = break_open(scene, 1);
	write_at(fd, offsetof(struct segment_head, version), &version, sizeof(version));
	scene_reopen(scene);
	assert_true(scene->seqs[0] > 1);
	assert_replayed(scene, scene->seqs[0], 100);
	path_of(scene, 1, path);
	assert_int_equal(access(path, F_OK), 0);
}

static void a_cut_file_gives_what_is_whole(void **state)
{
	struct scene *scene = *state;
	AUTO_CLOSE int fd = -1;

	fill(scene, 1, 20);
	fd = break_open(scene, 1);
	/* In the middle of the eleventh. */
	assert_int_equal(ftruncate(fd, SEGMENT_FIRST + 10 * 1088 + 500), 0);
	scene_reopen(scene);
	assert_replayed(scene, 1, 10);
	assert_int_equal(scene_append(scene, 11, 10).segment, 2);
	scene_reopen(scene);
	assert_replayed(scene, 1, 11);
}

static void a_file_cut_under_us_is_missed_not_mapped(void **state)
{
	struct scene *scene = *state;
	struct journal_place place = {1, SEGMENT_FIRST};
	struct journal_record record = {0};
	char path[128];

	fill(scene, 1, 200);
	path_of(scene, 1, path);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(journal_read(scene->journal, place, &record, &scene->err), -ENOENT);
	assert_true(journal_next(scene->journal, &place));
	assert_int_equal(place.segment, 2);
	path_of(scene, 2, path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(journal_read(scene->journal, place, &record, &scene->err), -ENOENT);
}

static void foreign_bytes_end_their_segment_only(void **state)
{
	struct scene *scene = *state;
	const uint32_t bad = 0xdeadbeef;
	AUTO_CLOSE int fd = -1;

	fill(scene, 1, 100);
	fd = break_open(scene, 1);
	/* The mark of the sixth. */
	write_at(fd, SEGMENT_FIRST + 5 * 1088 + offsetof(struct segment_record, marks), &bad, 4);
	scene_reopen(scene);
	assert_true(scene->count > 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(scene->seqs[i], i + 1);
	assert_true(scene->seqs[5] > 50);
	assert_int_equal(scene->seqs[scene->count - 1], 100);
}

static void a_torn_record_is_not_there_and_the_next_one_is(void **state)
{
	struct scene *scene = *state;
	const uint32_t nothing = 0;
	AUTO_CLOSE int fd = -1;

	fill(scene, 1, 10);
	fd = break_open(scene, 1);
	/* All was written but its size. */
	write_at(fd, SEGMENT_FIRST + 9 * 1088, &nothing, 4);
	scene_reopen(scene);
	assert_replayed(scene, 1, 9);
	assert_int_equal(scene_append(scene, 10, 3).segment, 1);
	scene_reopen(scene);
	assert_replayed(scene, 1, 10);

	/* Its size was written, and the rest of it was not. */
	journal_close(STEAL(scene->journal));
	write_at(fd, SEGMENT_FIRST + 9 * 1088 + 96, "\x20\x01\x00\x00", 4);
	scene_reopen(scene);
	assert_replayed(scene, 1, 10);
	assert_int_equal(scene_append(scene, 11, 3).segment, 2);
}

/* The rest of a torn record may hold any bytes, even a record whose checksum is right. */
static void nothing_behind_the_end_comes_back(void **state)
{
	struct scene *scene = *state;
	uint32_t at = SEGMENT_FIRST + 1088 + 1088;
	struct segment_record ghost = {
		.size = sizeof(ghost), .type = JOURNAL_EVENT, .id = "run_a", .seq = 666};
	struct segment_head head = {0};
	AUTO_CLOSE int fd = -1;

	fill(scene, 1, 1);
	fd = break_open(scene, 1);
	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	ghost.check = segment_check(head.key, at, &ghost);
	write_at(fd, at, &ghost, sizeof(ghost));
	scene_reopen(scene);
	assert_replayed(scene, 1, 1);

	/* Ends exactly where the ghost is. */
	(void)scene_append(scene, 2, 1000);
	scene_reopen(scene);
	assert_replayed(scene, 1, 2);
}

/* A size that is checked, and still wrong, must not lead out of the file. */
static void a_checked_size_beyond_the_file_is_refused(void **state)
{
	struct scene *scene = *state;
	const uint32_t most = 64 * KIB - SEGMENT_FIRST;
	const uint32_t sizes[] = {1, sizeof(struct segment_record) - 1, most + 1, 64 * KIB,
				  UINT32_MAX};
	struct segment_record ghost = {.id = "run_a", .seq = 666};
	struct segment_head head = {0};
	AUTO_CLOSE int fd = -1;

	fill(scene, 1, 1);
	fd = break_open(scene, 1);
	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		ghost.size = sizes[i];
		ghost.check = segment_check(head.key, SEGMENT_FIRST, &ghost);
		write_at(fd, SEGMENT_FIRST, &ghost, sizeof(ghost));
		scene_reopen(scene);
		assert_int_equal(scene->count, 0);
		journal_close(STEAL(scene->journal));
	}

	/* The largest that fits is one: the check is right. */
	ghost.size = most;
	ghost.check = segment_check(head.key, SEGMENT_FIRST, &ghost);
	write_at(fd, SEGMENT_FIRST, &ghost, sizeof(ghost));
	scene_reopen(scene);
	assert_replayed(scene, 666, 666);
}

/* ---- a kill at any instruction ---- */

struct shared {
	uint64_t written; /* number of the last one whose append returned */
};

static size_t size_of(uint64_t seq)
{
	return (size_t)(seq * 2654435761U % 3000);
}

static _Noreturn void append_until_killed(const char *path, struct shared *shared)
{
	struct journal_settings settings = {.segment_size = 64 * KIB, .disk_max = MIB};
	static uint8_t data[3000];
	struct journal *journal = NULL;
	struct err err = {0};
	uint64_t seq = shared->written;

	if (journal_open(path, &settings, NULL, NULL, &journal, &err) < 0)
		_exit(1);
	for (;;) {
		struct journal_record record = {.type = JOURNAL_EVENT, .id = "run_a", .data = data};
		struct journal_place place;

		record.seq = ++seq;
		record.size = size_of(seq);
		memset(data, (int)(seq & 0xff), record.size);
		if (journal_append(journal, &record, NULL, 0, &place, &err) < 0)
			_exit(2);
		__atomic_store_n(&shared->written, seq, __ATOMIC_RELEASE);
	}
}

struct replayed {
	uint64_t first, last;
	bool is_good;
};

static void check_one(void *user, const struct journal_record *record, struct journal_place place)
{
	struct replayed *replayed = user;
	const uint8_t *data = record->data;

	(void)place;
	if (replayed->first == 0)
		replayed->first = record->seq;
	else
		replayed->is_good &= record->seq == replayed->last + 1;
	replayed->last = record->seq;
	replayed->is_good &= record->size == size_of(record->seq);
	for (size_t i = 0; i < record->size; i++)
		replayed->is_good &= data[i] == (record->seq & 0xff);
}

static void kill_it_once(const struct scene *scene, struct shared *shared)
{
	struct journal_settings settings = {.segment_size = 64 * KIB, .disk_max = MIB};
	struct replayed replayed = {.is_good = true};
	struct journal *journal = NULL;
	struct err err = {0};
	uint64_t begun = shared->written;
	uint16_t more = 0;
	int status = 0;
	pid_t child;

	assert_int_equal(getrandom(&more, sizeof(more), 0), sizeof(more));
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		append_until_killed(scene->path, shared);
	while (__atomic_load_n(&shared->written, __ATOMIC_ACQUIRE) < begun + 1 + more % 400 &&
	       waitpid(child, &status, WNOHANG) == 0)
		(void)sched_yield();
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));

	assert_ok(journal_open(scene->path, &settings, check_one, &replayed, &journal, &err), err);
	journal_close(journal);
	assert_true(replayed.is_good);
	/* All that was reported, and at most the one that was not yet. */
	assert_in_range(replayed.last, shared->written, shared->written + 1);
	assert_true(replayed.first == 1 || replayed.last - replayed.first > 300);
	shared->written = replayed.last;
}

static void a_kill_leaves_whole_records_and_nothing_else(void **state)
{
	struct scene *scene = *state;
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(shared != MAP_FAILED);
	journal_close(STEAL(scene->journal));
	for (int i = 0; i < KILLS; i++)
		kill_it_once(scene, shared);
	assert_true(shared->written > KILLS);
	(void)munmap(shared, sizeof(*shared));
}

/* ---- memory ---- */

/* How much of the first segment is in this process, in KiB. */
static unsigned long mapped_kib(const struct scene *scene)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	unsigned long kib = 0;
	bool is_ours = false;
	char path[128], line[512];

	assert_non_null(file);
	path_of(scene, 1, path);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strchr(line, '/') != NULL)
			is_ours = strstr(line, path) != NULL;
		if (is_ours && sscanf(line, "Rss: %lu kB", &kib) == 1)
			break;
	}
	(void)fclose(file);
	return kib;
}

static unsigned long mapped_after_writing(struct scene *scene, uint64_t resident)
{
	journal_close(STEAL(scene->journal));
	scratch_remove(scene->path);
	scene->settings = (struct journal_settings){.segment_size = 8 * MIB, .resident = resident};
	scene_reopen(scene);
	fill(scene, 1, 4000);
	assert_int_equal(scene_append(scene, 4001, 1000).segment, 1);
	return mapped_kib(scene);
}

static void keeps_no_more_in_memory_than_it_may(void **state)
{
	struct scene *scene = *state;
	unsigned long few = mapped_after_writing(scene, 64 * KIB);
	unsigned long many = mapped_after_writing(scene, 8 * MIB);

	/* Besides, what it has made ready to write to, and a step that is not full yet. */
	assert_in_range(few, 1, 64 + 64 + 256);
	assert_true(many > few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(foreign_files_do_not_stop_the_start),
		SCENE(another_version_is_left_alone),
		SCENE(a_cut_file_gives_what_is_whole),
		SCENE(a_file_cut_under_us_is_missed_not_mapped),
		SCENE(foreign_bytes_end_their_segment_only),
		SCENE(a_torn_record_is_not_there_and_the_next_one_is),
		SCENE(nothing_behind_the_end_comes_back),
		SCENE(a_checked_size_beyond_the_file_is_refused),
		SCENE(a_kill_leaves_whole_records_and_nothing_else),
		SCENE(keeps_no_more_in_memory_than_it_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
