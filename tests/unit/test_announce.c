// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "op/announce.h"
#include "session/engine.h"
#include "unit.h"

struct fixture {
	uv_loop_t loop;
	struct engine engine;
	struct announce_reader readers[2];
	uint32_t woken;
};

static void count_wake(void *user)
{
	((struct fixture *)user)->woken++;
}

static struct announce_reader *reader_of(struct fixture *fixture, size_t i)
{
	fixture->readers[i] = (struct announce_reader){.ready = count_wake, .user = fixture};
	return &fixture->readers[i];
}

static int setup(void **state)
{
	struct fixture *fixture = xnew(struct fixture);

	(void)uv_loop_init(&fixture->loop);
	fixture->engine.announcer = announcer_new(&fixture->loop);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	announcer_close(fixture->engine.announcer);
	(void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	free(fixture);
	return 0;
}

static const struct op_caller alice = {.name = "alice", .peer = "unix"};
static const struct op_caller boss = {.name = "boss", .peer = "unix", .is_overseer = true};

/* The next line, "" for none. */
static const char *next(struct announce_reader *reader)
{
	static char text[ANNOUNCE_LINE_MAX];
	struct buf buf;

	buf_init(&buf, ANNOUNCE_LINE_MAX);
	text[0] = '\0';
	if (announce_next(reader, &buf) == 1)
		(void)snprintf(text, sizeof(text), "%.*s", (int)buf.size, (const char *)buf.data);
	buf_done(&buf);
	return text;
}

static void open_reader(struct fixture *fixture, struct announce_reader *reader,
			const struct op_caller *caller, uint64_t after)
{
	struct err err = {0};

	assert_int_equal(announce_open(fixture->engine.announcer, caller, after, reader, &err), 0);
}

static void a_reader_sees_what_is_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct announce_reader *own = reader_of(fixture, 0);
	struct announce_reader *all = reader_of(fixture, 1);

	open_reader(fixture, own, &alice, 0);
	open_reader(fixture, all, &boss, 0);
	announce_conversation(&fixture->engine, "bob", "cnv_bob", 1);
	announce_conversation(&fixture->engine, "alice", "cnv_alice", 2);
	announce_conversation_gone(&fixture->engine, "", "cnv_nobody");
	assert_non_null(strstr(next(own), "\"type\":\"conversation\",\"id\":\"cnv_alice\","
					  "\"version\":2}\n"));
	assert_string_equal(next(own), "");
	assert_non_null(strstr(next(all), "cnv_bob"));
	assert_non_null(strstr(next(all), "cnv_alice"));
	assert_non_null(strstr(next(all), "\"conversation_gone\",\"id\":\"cnv_nobody\""));
	assert_string_equal(next(all), "");
}

static void a_reader_that_is_too_slow_is_told_so_once_and_goes_on(void **state)
{
	struct fixture *fixture = *state;
	struct announce_reader *slow = reader_of(fixture, 0);
	struct announce_reader *late = reader_of(fixture, 1);
	uint64_t first;

	open_reader(fixture, slow, &alice, 0);
	first = slow->after;
	for (unsigned i = 0; i < ANNOUNCE_KEEP; i++)
		announce_conversation(&fixture->engine, "alice", "cnv_1", i);
	/* All of the ring is still there. */
	open_reader(fixture, late, &alice, first);
	assert_false(late->is_lost);
	assert_non_null(strstr(next(late), "\"version\":0}"));
	announce_close(late);

	announce_conversation(&fixture->engine, "alice", "cnv_1", 9999);
	assert_non_null(strstr(next(slow), "\"type\":\"reset\""));
	assert_string_equal(next(slow), "");
	open_reader(fixture, late, &alice, first);
	assert_true(late->is_lost);
	announce_conversation(&fixture->engine, "alice", "cnv_1", 10000);
	assert_non_null(strstr(next(slow), "\"version\":10000}"));
	assert_non_null(strstr(next(late), "\"type\":\"reset\""));
	assert_string_equal(next(late), "");
}

static void what_nobody_could_hear_is_only_counted(void **state)
{
	struct fixture *fixture = *state;
	struct announce_reader *first = reader_of(fixture, 0);
	struct announce_reader *second = reader_of(fixture, 1);
	uint64_t start;

	for (unsigned i = 0; i < 3; i++)
		announce_conversation(&fixture->engine, "alice", "cnv_1", i);
	open_reader(fixture, first, &alice, 0);
	start = first->after;
	announce_close(first);
	/* A reader has been here: from now on events are kept. */
	announce_conversation(&fixture->engine, "alice", "cnv_1", 3);
	open_reader(fixture, first, &alice, start);
	assert_false(first->is_lost);
	assert_non_null(strstr(next(first), "\"version\":3}"));
	open_reader(fixture, second, &alice, start - 1);
	assert_non_null(strstr(next(second), "\"type\":\"reset\""));
	assert_string_equal(next(second), "");
}

static void others_lines_do_not_make_a_reader_slow(void **state)
{
	struct fixture *fixture = *state;
	struct announce_reader *own = reader_of(fixture, 0);

	open_reader(fixture, own, &alice, 0);
	for (unsigned i = 0; i < 3 * ANNOUNCE_KEEP; i++) {
		announce_conversation(&fixture->engine, "bob", "cnv_1", i);
		if (i % 100 == 0)
			assert_string_equal(next(own), "");
	}
	assert_string_equal(next(own), "");
	announce_conversation(&fixture->engine, "alice", "cnv_2", 1);
	assert_non_null(strstr(next(own), "cnv_2"));
}

static void who_waits_is_woken_once_for_many_lines(void **state)
{
	struct fixture *fixture = *state;
	struct announce_reader *own = reader_of(fixture, 0);

	open_reader(fixture, own, &alice, 0);
	announce_conversation(&fixture->engine, "alice", "cnv_1", 1);
	(void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
	assert_int_equal(fixture->woken, 0); /* it has not asked yet */
	(void)next(own);
	assert_string_equal(next(own), "");
	for (unsigned i = 0; i < 10; i++)
		announce_conversation(&fixture->engine, "alice", "cnv_1", i);
	assert_int_equal(fixture->woken, 0); /* never from inside */
	(void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
	assert_int_equal(fixture->woken, 1);
}

static void a_line_that_is_too_long_is_a_reset_for_all(void **state)
{
	struct fixture *fixture = *state;
	struct announce_reader *own = reader_of(fixture, 0);
	char id[2 * ANNOUNCE_LINE_MAX];

	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	open_reader(fixture, own, &alice, 0);
	announce_conversation(&fixture->engine, "alice", id, 1);
	assert_non_null(strstr(next(own), "\"type\":\"reset\""));
	assert_string_equal(next(own), "");
}

static void readers_are_bounded(void **state)
{
	static struct announce_reader many[ANNOUNCE_READERS_MAX + 1];
	static const struct config_token token;
	struct fixture *fixture = *state;
	struct op_caller named = {.name = "t", .peer = "unix", .token = &token};
	struct err err = {0};
	size_t i = 0;

	for (; i < ANNOUNCE_TOKEN_READERS_MAX; i++)
		open_reader(fixture, &many[i], &named, 0);
	assert_int_equal(announce_open(fixture->engine.announcer, &named, 0, &many[i], &err),
			 -EBUSY);
	assert_int_equal(err.kind, ERR_QUOTA);
	for (; i < ANNOUNCE_READERS_MAX; i++)
		open_reader(fixture, &many[i], &alice, 0);
	assert_int_equal(announce_open(fixture->engine.announcer, &alice, 0, &many[i], &err),
			 -EBUSY);
	announce_close(&many[0]);
	announce_close(&many[0]); /* twice is once */
	open_reader(fixture, &many[i], &alice, 0);
}

static void a_stop_ends_readers_and_no_announcer_is_fine(void **state)
{
	struct fixture *fixture = *state;
	struct announce_reader *own = reader_of(fixture, 0);
	struct engine none = {0};
	struct buf buf;

	announce_conversation(&none, "", "cnv_1", 1);
	announce_session_gone(&none, "", "ses_1");
	open_reader(fixture, own, &alice, 0);
	announcer_stop(fixture->engine.announcer);
	buf_init(&buf, ANNOUNCE_LINE_MAX);
	assert_int_equal(announce_next(own, &buf), -ENODATA);
	buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_reader_sees_what_is_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_reader_that_is_too_slow_is_told_so_once_and_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(what_nobody_could_hear_is_only_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(others_lines_do_not_make_a_reader_slow, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_waits_is_woken_once_for_many_lines, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_line_that_is_too_long_is_a_reset_for_all, setup,
						teardown),
		cmocka_unit_test_setup_teardown(readers_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stop_ends_readers_and_no_announcer_is_fine, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
