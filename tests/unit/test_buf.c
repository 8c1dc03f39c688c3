// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/buf.h"
#include "unit.h"

static void appends_and_grows(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 100000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(buf_append(&buf, "0123456789", 10), 0);
	assert_int_equal(buf.size, 100000);
	assert_memory_equal(buf.data + 99990, "0123456789", 10);
	buf_done(&buf);
}

static void refuses_more_than_its_maximum_and_stays_as_it_was(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 8);
	assert_int_equal(buf_text(&buf, "12345"), 0);
	assert_int_equal(buf_text(&buf, "6789"), -EMSGSIZE);
	assert_int_equal(buf_format(&buf, "%d", 6789), -EMSGSIZE);
	assert_int_equal(buf_reserve(&buf, SIZE_MAX), -EMSGSIZE);
	assert_string_equal(buf_string(&buf), "12345");
	assert_int_equal(buf_text(&buf, "678"), 0);
	assert_string_equal(buf_string(&buf), "12345678");
	buf_done(&buf);
}

static void formats_behind_what_is_there(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 1000);
	assert_int_equal(buf_text(&buf, "a="), 0);
	assert_int_equal(buf_format(&buf, "%d,%s", 7, "x"), 0);
	assert_string_equal(buf_string(&buf), "a=7,x");
	buf_done(&buf);
}

static void consumes_from_the_front(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 1000);
	assert_int_equal(buf_text(&buf, "headrest"), 0);
	buf_consume(&buf, 4);
	assert_string_equal(buf_string(&buf), "rest");
	buf_consume(&buf, 99);
	assert_int_equal(buf.size, 0);
	buf_done(&buf);
}

static void is_an_empty_text_before_the_first_byte_and_after_done(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 10);
	assert_string_equal(buf_string(&buf), "");
	assert_int_equal(buf_append(&buf, NULL, 0), 0);
	assert_int_equal(buf_text(&buf, "x"), 0);
	buf_done(&buf);
	assert_string_equal(buf_string(&buf), "");
	assert_int_equal(buf_text(&buf, "again"), 0);
	buf_done(&buf);
	buf_done(NULL);
}

static void remembers_its_first_failure_until_it_is_cut(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 8);
	(void)buf_text(&buf, "four");
	(void)buf_text(&buf, "far too long");
	(void)buf_text(&buf, "x");
	assert_int_equal(buf.failed, -EMSGSIZE);
	buf_cut(&buf, 4);
	assert_int_equal(buf.failed, 0);
	assert_string_equal(buf_string(&buf), "four");
	buf_cut(&buf, 99);
	assert_int_equal(buf.size, 4);
	(void)buf_format(&buf, "%s", "far too long");
	assert_int_equal(buf.failed, -EMSGSIZE);
	buf_done(&buf);
	assert_int_equal(buf.failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_and_grows),
		cmocka_unit_test(refuses_more_than_its_maximum_and_stays_as_it_was),
		cmocka_unit_test(formats_behind_what_is_there),
		cmocka_unit_test(consumes_from_the_front),
		cmocka_unit_test(remembers_its_first_failure_until_it_is_cut),
		cmocka_unit_test(is_an_empty_text_before_the_first_byte_and_after_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
