// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/json.h"
#include "log_unit.h"
#include "session/log_state.h"

/* Are the lines behind `after` all there, up to the last? */
static void assert_lines(struct log *log, uint64_t after, int end)
{
	struct log_reader reader;
	const char *text = NULL;
	char want[32];
	size_t size = 0;

	log_reader_open(&reader, log, after, NULL, NULL);
	for (uint64_t seq = after + 1; seq <= log_seq(log); seq++) {
		assert_int_equal(log_reader_next(&reader, &text, &size), 1);
		assert_int_equal(reader.after, seq);
		(void)snprintf(want, sizeof(want), "{\"seq\":%llu,", (unsigned long long)seq);
		assert_memory_equal(text, want, strlen(want));
	}
	assert_int_equal(log_reader_next(&reader, &text, &size), end);
	log_reader_close(&reader);
}

static void assert_gone(struct log *log, uint64_t after)
{
	struct log_reader reader;
	const char *text = NULL;
	size_t size = 0;

	log_reader_open(&reader, log, after, NULL, NULL);
	assert_int_equal(log_reader_next(&reader, &text, &size), -ENOENT);
	log_reader_close(&reader);
}

/* ---- lines ---- */

static void numbers_them_and_ends(void **state)
{
	static const char first[] =
		"{\"seq\":1,\"t_ms\":0.000,\"type\":\"started\",\"run\":\"run_a\"}";
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	struct log_reader reader;
	const char *text = NULL;
	size_t size = 0;

	log_reader_open(&reader, log, 0, NULL, NULL);
	assert_int_equal(log_reader_next(&reader, &text, &size), 0);
	add_line(stage, log, "started", ",\"run\":\"run_a\"");
	assert_int_equal(log_reader_next(&reader, &text, &size), 1);
	assert_int_equal(size, strlen(first));
	assert_memory_equal(text, first, size);
	add_line(stage, log, "verdict", "");
	assert_true(log_is_over(log));
	assert_int_equal(log_seq(log), 2);
	assert_int_equal(log_reader_next(&reader, &text, &size), 1);
	assert_true(json_is_valid(text, size));
	assert_int_equal(log_reader_next(&reader, &text, &size), -ENODATA);
	assert_int_equal(log_add(log, "stdout", "", 0, NULL, false, &stage->err), -ESHUTDOWN);
	log_reader_close(&reader);
}

static void count_call(void *user)
{
	(*(unsigned *)user)++;
}

static void ends_without_a_last_line_if_it_must(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	struct log_reader reader = {0};
	const char *text = NULL;
	unsigned calls = 0;
	size_t size = 0;

	add_line(stage, log, "started", "");
	log_reader_open(&reader, log, 1, count_call, &calls);
	log_end(log);
	assert_int_equal(calls, 1);
	assert_true(log_is_over(log));
	assert_int_equal(log_reader_next(&reader, &text, &size), -ENODATA);
	log_reader_close(&reader);
}

static void resumes_at_every_number(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	struct log *other = add_log(stage, "run_b");
	static char noise[9000];

	(void)snprintf(noise, sizeof(noise), ",\"text\":\"%08000d\"", 0);
	for (int i = 0; i < 300; i++) {
		/* Alone, between a few of others, and far from each other. */
		for (int j = 0; j < (i > 250 ? 9 : i > 100 ? 1 : 0); j++)
			add_line(stage, other, "stdout", noise);
		add_line(stage, log, "stdout", ",\"text\":\"x\"");
	}
	for (uint64_t after = 0; after <= 300; after++)
		assert_lines(log, after, 0);
	assert_lines(other, 0, 0);
	assert_lines(log, 1000, 0);

	restart(stage);
	log = logs_find(stage->logs, "run_a");
	assert_non_null(log);
	add_line(stage, log, "verdict", "");
	for (uint64_t after = 0; after <= 301; after++)
		assert_lines(log, after, -ENODATA);
}

/* ---- readers ---- */

struct watcher {
	struct log_reader reader;
	struct watcher *victim; /* closed in the call */
	unsigned calls;
};

static void heard(void *user)
{
	struct watcher *watcher = user;

	watcher->calls++;
	if (watcher->victim != NULL)
		log_reader_close(&watcher->victim->reader);
}

static void a_stalled_reader_misses_nothing(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	struct watcher quick = {0};
	struct watcher stalled = {0};
	const char *text = NULL;
	size_t size = 0;

	log_reader_open(&quick.reader, log, 0, heard, &quick);
	log_reader_open(&stalled.reader, log, 0, heard, &stalled);
	for (int i = 0; i < 500; i++) {
		add_line(stage, log, "stdout", ",\"text\":\"0123456789\"");
		assert_int_equal(log_reader_next(&quick.reader, &text, &size), 1);
		assert_int_equal(log_reader_next(&quick.reader, &text, &size), 0);
	}
	assert_int_equal(quick.calls, 500);
	assert_int_equal(stalled.calls, 500);
	for (uint64_t seq = 1; seq <= 500; seq++) {
		assert_int_equal(log_reader_next(&stalled.reader, &text, &size), 1);
		assert_int_equal(stalled.reader.after, seq);
	}
	add_line(stage, log, "verdict", "");
	assert_int_equal(stalled.calls, 501);
	log_reader_close(&quick.reader);
	log_reader_close(&stalled.reader);
	log_reader_close(&stalled.reader);
}

static void any_reader_may_leave_in_the_call(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	struct watcher watchers[4] = {0};

	for (size_t i = 0; i < ARRAY_LEN(watchers); i++)
		log_reader_open(&watchers[i].reader, log, 0, heard, &watchers[i]);
	watchers[0].victim = &watchers[0];
	watchers[1].victim = &watchers[2];
	watchers[2].victim = &watchers[1];
	add_line(stage, log, "stdout", "");
	/* One of the two that close each other was told. */
	assert_int_equal(watchers[1].calls + watchers[2].calls, 1);
	add_line(stage, log, "stdout", "");
	assert_int_equal(watchers[0].calls, 1);
	assert_int_equal(watchers[3].calls, 2);
	assert_int_equal(watchers[1].calls + watchers[2].calls, 2);
	for (size_t i = 0; i < ARRAY_LEN(watchers); i++)
		log_reader_close(&watchers[i].reader);
}

/* ---- a restart ---- */

static double time_of_last(struct log *log)
{
	struct log_reader reader;
	const char *text = NULL;
	const char *value = NULL;
	size_t size = 0;
	size_t value_size = 0;

	log_reader_open(&reader, log, log_seq(log) - 1, NULL, NULL);
	assert_int_equal(log_reader_next(&reader, &text, &size), 1);
	log_reader_close(&reader);
	assert_true(json_find(text, size, "t_ms", &value, &value_size));
	return strtod(value, NULL);
}

static void a_restart_changes_nothing(void **state)
{
	struct log_head head;
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	const uint64_t marks[3] = {10, 20, 30};
	const char *text = NULL;
	size_t size = 0;
	uint64_t begun_ms;
	double before;

	assert_false(log_last_note(log, &text, &size));
	add_line(stage, log, "started", "");
	assert_ok(log_note(log, "{\"step\":1}", 10, &stage->err), stage->err);
	assert_ok(log_note(log, "{\"step\":2}", 10, &stage->err), stage->err);
	assert_ok(log_add(log, "stdout", "", 0, marks, false, &stage->err), stage->err);
	add_line(stage, log, "stderr", "");
	begun_ms = log_begun_ms(log);
	before = time_of_last(log);

	restart(stage);
	log = logs_find(stage->logs, "run_a");
	assert_non_null(log);
	assert_string_equal(log_id(log), "run_a");
	assert_int_equal(log_seq(log), 3);
	assert_false(log_is_over(log));
	assert_int_equal(log_begun_ms(log), begun_ms);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(log_marks(log, i), marks[i]);
	assert_true(log_head(log, &head));
	assert_int_equal(head.session.size, 4);
	assert_memory_equal(head.session.at, "null", 4);
	assert_int_equal(head.token.size, 0);
	assert_true(log_code(log, &text, &size));
	assert_int_equal(size, 8);
	assert_memory_equal(text, "print(1)", 8);
	assert_true(log_last_note(log, &text, &size));
	assert_int_equal(size, 10);
	assert_memory_equal(text, "{\"step\":2}", 10);

	/* Time goes on from where it was. */
	add_line(stage, log, "stdout", "");
	assert_true(time_of_last(log) >= before);
	assert_true(time_of_last(log) < before + 60000);
	add_line(stage, log, "verdict", "");
	restart(stage);
	log = logs_find(stage->logs, "run_a");
	assert_true(log_is_over(log));
	assert_lines(log, 0, -ENODATA);
}

static void pieces_are_there_until_their_event(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	struct log *other = add_log(stage, "run_b");
	const uint64_t marks[3] = {0, 0, 2};
	static char large[60000];
	struct buf whole;

	memset(large, 'x', sizeof(large));
	buf_init(&whole, MIB);
	add_line(stage, log, "started", "");
	assert_int_equal(log_pieces(log, &whole), 0);
	assert_int_equal(whole.size, 0);
	for (int i = 0; i < 3; i++) {
		assert_ok(log_piece(log, large, sizeof(large), marks, &stage->err), stage->err);
		assert_ok(log_piece(other, "no", 2, NULL, &stage->err), stage->err);
	}
	restart(stage);
	log = logs_find(stage->logs, "run_a");
	assert_int_equal(log_marks(log, 2), 2);
	assert_ok(log_piece(log, "end", 3, NULL, &stage->err), stage->err);
	assert_int_equal(log_pieces(log, &whole), 0);
	assert_int_equal(whole.size, 3 * sizeof(large) + 3);
	assert_memory_equal(whole.data + 3 * sizeof(large), "end", 3);

	add_line(stage, log, "display", "");
	buf_consume(&whole, whole.size);
	assert_int_equal(log_pieces(log, &whole), 0);
	assert_int_equal(whole.size, 0);
	restart(stage);
	assert_int_equal(log_pieces(logs_find(stage->logs, "run_a"), &whole), 0);
	assert_int_equal(whole.size, 0);
	buf_done(&whole);
}

/* ---- forgetting ---- */

static uint64_t real_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void fill(struct stage *stage, struct log *log, unsigned count)
{
	static char text[4200];

	(void)snprintf(text, sizeof(text), ",\"text\":\"%04000d\"", 0);
	for (unsigned i = 0; i < count; i++)
		add_line(stage, log, "stdout", text);
}

static void what_is_over_and_old_is_forgotten(void **state)
{
	struct stage *stage = *state;
	struct log *old = add_log(stage, "run_old");
	struct log *live = NULL;
	struct watcher watcher = {0};
	const char *text = NULL;
	size_t size = 0;

	fill(stage, old, 60);
	add_line(stage, old, "verdict", "");
	live = add_log(stage, "run_live");
	fill(stage, live, 60);
	log_reader_open(&watcher.reader, old, 0, heard, &watcher);

	logs_tick(stage->logs, real_ms(), UINT32_MAX);
	assert_non_null(logs_find(stage->logs, "run_old"));
	assert_int_equal(journal_first(stage->journal), 1);
	logs_tick(stage->logs, real_ms() + KEEP_MS + 1, 2);
	assert_null(logs_find(stage->logs, "run_old"));
	assert_int_equal(watcher.calls, 1);
	assert_null(watcher.reader.log);
	assert_int_equal(log_reader_next(&watcher.reader, &text, &size), -ENODATA);
	log_reader_close(&watcher.reader);

	/* The second segment is still needed, and so is the one with the live run. */
	assert_int_equal(journal_first(stage->journal), 2);
	logs_tick(stage->logs, real_ms() + KEEP_MS + 1, UINT32_MAX);
	assert_int_equal(journal_first(stage->journal), live->run.segment);
	assert_true(live->run.segment > 2);
	assert_lines(live, 0, 0);

	/* Its records may still be on disk, but it is as old as it was. */
	restart(stage);
	logs_tick(stage->logs, real_ms() + KEEP_MS + 1, UINT32_MAX);
	assert_null(logs_find(stage->logs, "run_old"));
	assert_lines(logs_find(stage->logs, "run_live"), 0, 0);
}

static void a_clock_that_jumps_makes_no_log_old(void **state)
{
	struct stage *stage = *state;
	const uint64_t day_ms = 86400000;
	uint64_t now_ms = real_ms();

	add_line(stage, add_log(stage, "run_a"), "verdict", "");
	logs_tick(stage->logs, now_ms, UINT32_MAX);
	logs_tick(stage->logs, now_ms + day_ms, UINT32_MAX);
	assert_non_null(logs_find(stage->logs, "run_a"));
	logs_tick(stage->logs, now_ms - day_ms, UINT32_MAX);
	assert_non_null(logs_find(stage->logs, "run_a"));
	logs_tick(stage->logs, now_ms - day_ms + 3 * KEEP_MS, UINT32_MAX);
	assert_null(logs_find(stage->logs, "run_a"));
}

static void what_the_disk_cannot_hold_is_said_to_be_gone(void **state)
{
	struct stage *stage = *state;
	struct log *log = NULL;

	stage->settings.disk_max = 256 * KIB;
	restart(stage);
	log = add_log(stage, "run_a");
	fill(stage, log, 200);
	assert_gone(log, 0);
	assert_lines(log, 190, 0);

	restart(stage);
	log = logs_find(stage->logs, "run_a");
	assert_int_equal(log_seq(log), 200);
	assert_lines(log, 190, 0);
	assert_gone(log, 3);
}

static void a_run_that_goes_on_can_always_be_taken_up(void **state)
{
	struct log_head head;
	struct stage *stage = *state;
	const uint64_t marks[3] = {7, 8, 9};
	struct log *log = NULL;
	const char *text = NULL;
	size_t size = 0;

	stage->settings.disk_max = 512 * KIB;
	restart(stage);
	log = add_log_of(stage, "run_a", "{\"session\":\"ses_1\"}", "while True: pass");
	assert_ok(log_note(log, "{\"head\":3}", 10, &stage->err), stage->err);
	add_line(stage, log, "started", "");
	assert_ok(log_add(log, "stdout", "", 0, marks, false, &stage->err), stage->err);
	(void)add_log(stage, "run_quiet");
	fill(stage, add_log(stage, "run_loud"), 1000);
	assert_true(journal_first(stage->journal) > 50);
	assert_true(journal_disk(stage->journal) <= 512 * KIB);

	restart(stage);
	log = logs_find(stage->logs, "run_a");
	assert_non_null(log);
	assert_false(log_is_over(log));
	assert_true(log_head(log, &head));
	assert_true(span_is(head.session, "ses_1"));
	assert_true(log_code(log, &text, &size));
	assert_memory_equal(text, "while True: pass", size);
	assert_true(log_last_note(log, &text, &size));
	assert_memory_equal(text, "{\"head\":3}", size);
	assert_false(log_last_note(logs_find(stage->logs, "run_quiet"), &text, &size));

	/* Its events are gone, but no number comes twice, and no byte. */
	assert_int_equal(log_seq(log), 2);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(log_marks(log, i), marks[i]);
	add_line(stage, log, "stdout", "");
	assert_int_equal(log_seq(log), 3);
	assert_true(time_of_last(log) < 60000);
	add_line(stage, log, "stdout", "");
	assert_lines(log, 2, 0);
	assert_gone(log, 0);
	assert_gone(log, 1);
}

/* ---- size ---- */

static void its_owner_is_the_token_of_its_head(void **state)
{
	static const char head[] = "{\"who\":{\"token\":\"eve\"},\"token\":\"al\\u0069ce\"}";
	struct stage *stage = *state;
	struct log *log = NULL;

	assert_int_equal(logs_add(stage->logs, "run_a", head, strlen(head), "{\"token\":\"eve\"}",
				  15, &log, &stage->err),
			 0);
	assert_string_equal(log_owner(log), "alice");
	assert_int_equal(logs_add(stage->logs, "run_b", "{}", 2, "", 0, &log, &stage->err), 0);
	assert_null(log_owner(log));
	restart(stage);
	assert_string_equal(log_owner(logs_find(stage->logs, "run_a")), "alice");
	assert_null(log_owner(logs_find(stage->logs, "run_b")));
}

static void count_one(void *user, struct log *log)
{
	unsigned *count = user;
	char want[16];

	(void)snprintf(want, sizeof(want), "run_%u", (*count)++);
	assert_string_equal(log_id(log), want);
}

static void many_logs_are_small_and_found(void **state)
{
	struct stage *stage = *state;
	unsigned count = 0;
	char id[16];

	assert_true(sizeof(struct log) <= 300);
	for (unsigned i = 0; i < 5000; i++) {
		(void)snprintf(id, sizeof(id), "run_%u", i);
		add_line(stage, add_log(stage, id), "verdict", "");
	}
	assert_null(logs_find(stage->logs, "run_5000"));
	logs_each(stage->logs, count_one, &count);
	assert_int_equal(count, 5000);
	for (unsigned i = 0; i < 5000; i++) {
		(void)snprintf(id, sizeof(id), "run_%u", i);
		assert_non_null(logs_find(stage->logs, id));
		assert_null(logs_find(stage->logs, id)->index);
	}
	assert_int_equal(logs_add(stage->logs, "run_7", "{}", 2, "", 0, NULL, &stage->err),
			 -EEXIST);
}

static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long all = 0;
	unsigned long resident = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &all, &resident), 2);
	assert_int_equal(fclose(file), 0);
	return resident * 4096;
}

static void memory_stays_flat(void **state)
{
	struct stage *stage = *state;
	static char text[64 << 10];
	struct log_reader live;
	struct log *log = NULL;
	const char *line = NULL;
	size_t before;
	size_t size = 0;

	stage->settings.segment_size = MIB;
	restart(stage);
	log = add_log(stage, "run_a");
	(void)snprintf(text, sizeof(text), ",\"text\":\"%065000d\"", 0);
	log_reader_open(&live, log, 0, NULL, NULL);
	add_line(stage, log, "stdout", text);
	before = resident_bytes();
	for (size_t bytes = 0; bytes < 100 * MIB; bytes += strlen(text)) {
		add_line(stage, log, "stdout", text);
		assert_int_equal(log_reader_next(&live, &line, &size), 1);
	}
	log_reader_close(&live);
	assert_lines(log, 0, 0);
	assert_true(resident_bytes() < before + 8 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGE(numbers_them_and_ends),
		STAGE(ends_without_a_last_line_if_it_must),
		STAGE(resumes_at_every_number),
		STAGE(a_stalled_reader_misses_nothing),
		STAGE(any_reader_may_leave_in_the_call),
		STAGE(a_restart_changes_nothing),
		STAGE(pieces_are_there_until_their_event),
		STAGE(what_is_over_and_old_is_forgotten),
		STAGE(a_clock_that_jumps_makes_no_log_old),
		STAGE(what_the_disk_cannot_hold_is_said_to_be_gone),
		STAGE(a_run_that_goes_on_can_always_be_taken_up),
		STAGE(its_owner_is_the_token_of_its_head),
		STAGE(many_logs_are_small_and_found),
		STAGE(memory_stays_flat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
