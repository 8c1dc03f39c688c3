// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "backend/namespace/meter.h"
#include "base/c.h"
#include "unit.h"

static void put(int fd, const char *text)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* Files as a cgroup has them, which the test writes. */
static void open_one(struct meters *meters, struct meter *meter)
{
	int fds[LAUNCH_METER_COUNT];

	for (size_t i = 0; i < LAUNCH_METER_COUNT; i++) {
		fds[i] = memfd_create("meter", MFD_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	put(fds[LAUNCH_METER_CPU], "usage_usec 1000\nuser_usec 1\n");
	put(fds[LAUNCH_METER_MEMORY], "4096\n");
	put(fds[LAUNCH_METER_PEAK], "9999\n");
	put(fds[LAUNCH_METER_KILLS], "under_oom 0\noom_kill 2\n");
	meter_take(meters, meter, fds, LAUNCH_METER_COUNT);
	assert_int_equal(fds[0], -1);
}

static void mark_one(struct meter *meter, bool is_alone, struct box_mark *mark)
{
	*mark = (struct box_mark){.is_set = true};
	meter_mark(meter, mark);
	meter_count(meter, is_alone, mark);
}

static void counts_from_the_mark_on(void **state)
{
	struct meters meters = {0};
	struct meter meter = {0};
	struct box_mark mark;
	struct box_exit facts = {0};

	(void)state;
	meters_init(&meters);
	open_one(&meters, &meter);
	mark_one(&meter, false, &mark);
	put(meter.fds[LAUNCH_METER_CPU], "usage_usec 1500\nuser_usec 1\n");
	assert_true(meter_read(&meter, &mark, &facts));
	assert_int_equal(facts.cpu_us, 500);
	assert_int_equal(facts.memory, 4096);
	assert_int_equal(facts.peak, 9999);
	meter_done(&meter);
}

static void cannot_say_where_something_was_killed(void **state)
{
	struct meters meters = {0};
	struct meter meter = {0};
	struct box_mark mark;
	struct box_exit facts = {0};

	(void)state;
	meters_init(&meters);
	open_one(&meters, &meter);
	mark_one(&meter, false, &mark);
	put(meter.fds[LAUNCH_METER_KILLS], "under_oom 0\noom_kill 3\n");
	assert_false(meter_read(&meter, &mark, &facts));
	put(meter.fds[LAUNCH_METER_KILLS], "");
	assert_false(meter_read(&meter, &mark, &facts));
	meter_done(&meter);
}

static void what_is_killed_in_the_first_moment_counts(void **state)
{
	struct meters meters = {0};
	struct meter meter = {0};
	struct box_mark mark;
	struct box_exit facts = {0};

	(void)state;
	meters_init(&meters);
	open_one(&meters, &meter);
	mark = (struct box_mark){.is_set = true};
	meter_mark(&meter, &mark);
	assert_false(meter_read(&meter, &mark, &facts)); /* it has not begun */
	put(meter.fds[LAUNCH_METER_KILLS], "under_oom 0\noom_kill 3\n");
	meter_count(&meter, false, &mark);
	assert_false(meter_read(&meter, &mark, &facts));
	meter_done(&meter);
}

static void cannot_say_without_a_mark_or_when_closed(void **state)
{
	struct meters meters = {0};
	struct meter meter = {0};
	struct box_mark mark;
	struct box_exit facts = {0};

	(void)state;
	meters_init(&meters);
	mark_one(&meter, true, &mark);
	open_one(&meters, &meter);
	assert_false(meter_read(&meter, &mark, &facts));
	mark_one(&meter, true, &mark);
	meter_done(&meter);
	meter_done(&meter);
	assert_false(meter_read(&meter, &mark, &facts));
	assert_int_equal(meters.count, 0);
}

static void the_one_used_longest_ago_is_closed(void **state)
{
	static struct meter all[METERS_MAX + 2];
	struct meters meters = {0};
	struct box_mark mark;

	(void)state;
	meters_init(&meters);
	for (size_t i = 0; i < METERS_MAX; i++)
		open_one(&meters, &all[i]);
	mark_one(&all[0], false, &mark); /* the first is the last used now */
	open_one(&meters, &all[METERS_MAX]);
	assert_int_equal(meters.count, METERS_MAX);
	assert_non_null(all[0].meters);
	assert_null(all[1].meters);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		meter_done(&all[i]);
	assert_int_equal(meters.count, 0);
}

static void too_few_descriptors_leave_it_closed(void **state)
{
	struct meters meters = {0};
	struct meter meter = {.is_asked = true};
	int fds[LAUNCH_METER_COUNT] = {-1, -1, -1, -1};

	(void)state;
	meters_init(&meters);
	meter_take(&meters, &meter, fds, 0);
	assert_null(meter.meters);
	assert_true(meter.is_asked); /* nobody asks again and again */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_from_the_mark_on),
		cmocka_unit_test(cannot_say_where_something_was_killed),
		cmocka_unit_test(what_is_killed_in_the_first_moment_counts),
		cmocka_unit_test(cannot_say_without_a_mark_or_when_closed),
		cmocka_unit_test(the_one_used_longest_ago_is_closed),
		cmocka_unit_test(too_few_descriptors_leave_it_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
