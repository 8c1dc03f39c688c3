// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/buf.h"
#include "base/c.h"
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

static void reads_the_base64_that_it_writes(void **state)
{
	static const char bytes[] = "\0\xff\xfe\x7f~?>\x80";

	(void)state;
	for (size_t size = 0; size <= sizeof(bytes); size++) {
		AUTO_BUF struct buf text = {.max = 100};
		AUTO_BUF struct buf again = {.max = size + 2};

		assert_int_equal(buf_base64(&text, bytes, size), 0);
		assert_int_equal(text.size, (size + 2) / 3 * 4);
		assert_int_equal(buf_unbase64(&again, buf_string(&text), text.size, ""), 0);
		assert_int_equal(again.size, size);
		assert_memory_equal(again.data, bytes, size);
	}
}

static void refuses_what_is_not_base64(void **state)
{
	static const char *const wrong[] = {
		"Y",     "YW",     "YWI",      "YQ=",      "YQ===",    "Y===", "=",
		"====",  "YWJj=",  "YR==",     "YWJ=",     "YQ==Y",    "YQ=Q", "YW-_",
		"YW Jj", "YWJj\n", "YQ==YQ==", "YQ==\xc3", "YWJj====",
	};
	AUTO_BUF struct buf buf = {.max = 100};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		buf_cut(&buf, 0);
		assert_int_equal(buf_unbase64(&buf, wrong[i], strlen(wrong[i]), ""), -EINVAL);
		assert_int_equal(buf.failed, -EINVAL);
	}
	buf_cut(&buf, 0);
	assert_int_equal(buf_unbase64(&buf, "YWJj\0YWI", 8, "\r\n"), -EINVAL);
	assert_string_equal(buf_string(&buf), "abc");
	buf_cut(&buf, 0);
	assert_int_equal(buf_unbase64(&buf, "YW\r\nJjYQ\n=\n=\n", 13, "\r\n"), 0);
	assert_string_equal(buf_string(&buf), "abca");
	assert_int_equal(buf_unbase64(&buf, "YWJj", SIZE_MAX - 8, ""), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_and_grows),
		cmocka_unit_test(refuses_more_than_its_maximum_and_stays_as_it_was),
		cmocka_unit_test(formats_behind_what_is_there),
		cmocka_unit_test(consumes_from_the_front),
		cmocka_unit_test(remembers_its_first_failure_until_it_is_cut),
		cmocka_unit_test(reads_the_base64_that_it_writes),
		cmocka_unit_test(refuses_what_is_not_base64),
		cmocka_unit_test(is_an_empty_text_before_the_first_byte_and_after_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
