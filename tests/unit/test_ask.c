// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <uv.h>

#include "base/c.h"
#include "op/ask.h"
#include "session/engine.h"
#include "unit.h"

/* The call that the test's op has got. */
static struct op_call *asked;
static unsigned left_count, close_count;
static const char *source_text; /* what a stream has; NULL: it waits */
static size_t source_at;
static int64_t source_end; /* told behind it */

static void call_later(struct op_call *call)
{
	asked = call;
}

static void call_now(struct op_call *call)
{
	struct buf body;

	buf_init(&body, 100);
	assert_int_equal(buf_text(&body, "{\"a\":1}"), 0);
	op_answer(call, 0, &body);
}

static void call_fail(struct op_call *call)
{
	struct err err = {0};

	(void)err_set(&err, ERR_QUOTA, EBUSY, "enough");
	call->retry_after_s = 7;
	op_fail(call, &err);
}

static int64_t read_source(void *user, void *data, size_t room)
{
	size_t left;

	(void)user;
	if (source_text == NULL)
		return 0;
	left = strlen(source_text) - source_at;
	if (left == 0)
		return source_end;
	/* In small pieces: lines are cut anywhere. */
	left = left < 3 ? left : 3;
	left = left < room ? left : room;
	memcpy(data, source_text + source_at, left);
	source_at += left;
	return (int64_t)left;
}

static void close_source(void *user)
{
	(void)user;
	close_count++;
}

static void tell_left(struct op_call *call)
{
	(void)call;
	left_count++;
}

static void call_stream(struct op_call *call)
{
	static const struct op_source source = {.read = read_source, .close = close_source};

	asked = call;
	call->left = tell_left;
	(void)snprintf(call->run, sizeof(call->run), "run_1");
	op_stream(call, 200, "application/x-ndjson", -1, &source);
}

static const struct op op_later = {.name = "later", .call = call_later};
static const struct op op_now = {.name = "now", .status = 201, .call = call_now};
static const struct op op_failing = {.name = "fail", .call = call_fail};
static const struct op op_streaming = {.name = "stream", .call = call_stream};

struct world {
	uv_loop_t loop;
	struct engine engine;
	struct ask *ask;
	char lines[256];
	char bytes[64];
	char why[600];
	unsigned done_count, status, hold_after, line_count;
};

static bool on_event(void *user, const char *line, size_t size)
{
	struct world *world = user;
	size_t used = strlen(world->lines);

	(void)snprintf(world->lines + used, sizeof(world->lines) - used, "[%.*s]", (int)size, line);
	world->line_count++;
	return world->line_count != world->hold_after;
}

static void on_done(void *user, const struct ask_result *result)
{
	struct world *world = user;

	world->done_count++;
	world->status = result->status;
	if (result->bytes != NULL)
		(void)snprintf(world->bytes, sizeof(world->bytes), "%s", result->bytes);
	if (result->err != NULL)
		(void)snprintf(world->why, sizeof(world->why), "%u %u %s", result->err->kind,
			       result->retry_after_s, result->err->text);
}

static void start(struct world *world, const struct op *op, bool has_events, size_t max)
{
	static const struct ask_calls with_events = {on_event, on_done};
	static const struct ask_calls without = {NULL, on_done};
	struct ask_settings settings = {
		.op = op, .body = -1, .max = max, .calls = has_events ? &with_events : &without};

	*world = (struct world){0};
	asked = NULL;
	left_count = close_count = 0;
	source_at = 0;
	source_end = -1;
	assert_int_equal(uv_loop_init(&world->loop), 0);
	world->engine.loop = &world->loop;
	settings.engine = &world->engine;
	settings.user = world;
	world->ask = ask_start(&settings);
	assert_int_equal(world->done_count, 0);
}

static void run(struct world *world)
{
	(void)uv_run(&world->loop, UV_RUN_DEFAULT);
}

/* Nothing is left in the loop: whatever was asked is gone. */
static void finish(struct world *world)
{
	run(world);
	assert_int_equal(uv_loop_close(&world->loop), 0);
}

static void an_answer_comes_from_the_loop(void **state)
{
	struct world world;

	(void)state;
	start(&world, &op_now, false, 0);
	finish(&world);
	assert_int_equal(world.done_count, 1);
	assert_int_equal(world.status, 201);
	assert_string_equal(world.bytes, "{\"a\":1}");
	assert_string_equal(world.why, "");
}

static void a_failure_comes_with_its_kind(void **state)
{
	struct world world;
	char want[64];

	(void)state;
	start(&world, &op_failing, true, 0);
	finish(&world);
	(void)snprintf(want, sizeof(want), "%u 7 enough", ERR_QUOTA);
	assert_string_equal(world.why, want);
	assert_int_equal(world.done_count, 1);
}

static void events_come_line_by_line(void **state)
{
	struct world world;

	(void)state;
	source_text = "{\"type\":\"a\"}\n{}\n{\"b\":2}\n";
	start(&world, &op_streaming, true, 0);
	finish(&world);
	assert_string_equal(world.lines, "[{\"type\":\"a\"}][{}][{\"b\":2}]");
	assert_int_equal(world.done_count, 1);
	assert_int_equal(close_count, 1);
	assert_int_equal(left_count, 0);
}

static void a_held_ask_waits(void **state)
{
	struct world world;

	(void)state;
	source_text = "1\n2\n3\n";
	start(&world, &op_streaming, true, 0);
	world.hold_after = 1;
	run(&world);
	assert_string_equal(world.lines, "[1]");
	assert_int_equal(world.done_count, 0);
	op_wake(asked);
	run(&world);
	assert_string_equal(world.lines, "[1]");
	ask_go_on(world.ask);
	finish(&world);
	assert_string_equal(world.lines, "[1][2][3]");
	assert_int_equal(world.done_count, 1);
}

static void a_stream_without_events_is_collected(void **state)
{
	struct world world;

	(void)state;
	source_text = "bytes of a file\n";
	start(&world, &op_streaming, false, 0);
	finish(&world);
	assert_string_equal(world.bytes, "bytes of a file\n");
}

static void more_than_its_maximum_is_a_failure(void **state)
{
	struct world world;

	(void)state;
	source_text = "0123456789abcdef";
	start(&world, &op_streaming, false, 10);
	finish(&world);
	assert_contains(world.why, "too large");
	assert_int_equal(world.done_count, 1);
	assert_int_equal(close_count, 1);
}

static void a_stream_that_breaks_off_is_a_failure(void **state)
{
	struct world world;

	(void)state;
	source_text = "1\n2";
	start(&world, &op_streaming, true, 0);
	source_end = -2;
	finish(&world);
	assert_string_equal(world.lines, "[1]");
	assert_contains(world.why, "broke off");
	assert_int_equal(left_count, 0);
}

static void a_cancel_reaches_the_op_once_and_done_still_comes(void **state)
{
	struct world world;

	(void)state;
	source_text = NULL;
	start(&world, &op_streaming, true, 0);
	run(&world);
	ask_cancel(world.ask);
	ask_cancel(world.ask);
	assert_int_equal(left_count, 1);
	source_text = "end\n";
	op_wake(asked);
	finish(&world);
	assert_string_equal(world.lines, "[end]");
	assert_int_equal(world.done_count, 1);
}

static void a_cancel_lets_go_of_what_is_held(void **state)
{
	struct world world;

	(void)state;
	source_text = "1\n2\n3\n";
	start(&world, &op_streaming, true, 0);
	world.hold_after = 1;
	run(&world);
	assert_string_equal(world.lines, "[1]");
	world.hold_after = 2;
	ask_cancel(world.ask);
	finish(&world);
	assert_string_equal(world.lines, "[1][2][3]");
	assert_int_equal(world.done_count, 1);
}

static void who_was_forgotten_says_nothing(void **state)
{
	struct world world;

	(void)state;
	source_text = NULL;
	start(&world, &op_streaming, true, 0);
	run(&world);
	ask_forget(world.ask);
	finish(&world);
	assert_int_equal(world.done_count, 0);
	assert_int_equal(close_count, 1);
	assert_int_equal(left_count, 0);

	start(&world, &op_later, false, 0);
	ask_forget(world.ask);
	run(&world);
	call_now(asked);
	finish(&world);
	assert_int_equal(world.done_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_from_the_loop),
		cmocka_unit_test(a_failure_comes_with_its_kind),
		cmocka_unit_test(events_come_line_by_line),
		cmocka_unit_test(a_held_ask_waits),
		cmocka_unit_test(a_stream_without_events_is_collected),
		cmocka_unit_test(more_than_its_maximum_is_a_failure),
		cmocka_unit_test(a_stream_that_breaks_off_is_a_failure),
		cmocka_unit_test(a_cancel_reaches_the_op_once_and_done_still_comes),
		cmocka_unit_test(a_cancel_lets_go_of_what_is_held),
		cmocka_unit_test(who_was_forgotten_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
