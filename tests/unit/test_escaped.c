// SPDX-License-Identifier: Apache-2.0
#include "dialect/escaped.h"
#include "unit.h"

static struct escaped text_of(const char *text)
{
	return (struct escaped){text, strlen(text)};
}

static void assert_text(struct escaped text, const char *want)
{
	assert_int_equal(text.size, strlen(want));
	assert_memory_equal(text.text, want, text.size);
}

static void lines_end_at_an_escaped_newline(void **state)
{
	(void)state;
	assert_text(escaped_line(text_of("a\\nb\\n")), "a\\n");
	assert_text(escaped_line(text_of("\\\\n\\nx")), "\\\\n\\n");
	assert_text(escaped_line(text_of("\\u000ax")), "\\u000a");
	assert_text(escaped_line(text_of("a\\\\n")), "");
	assert_text(escaped_line(text_of("")), "");
}

static void trims_what_python_strips(void **state)
{
	(void)state;
	assert_text(escaped_trim(text_of(" \\t\\n a \\\\ b\\r\\n\\u000b\\u00a0\\u3000")),
		    "a \\\\ b");
	assert_text(escaped_trim(text_of("\\n \\u2003")), "");
	assert_text(escaped_trim(text_of("\\\"x\\\"")), "\\\"x\\\"");
	assert_text(escaped_trim(text_of("\\u200b")), "\\u200b");
}

static void cuts_no_pair_in_two(void **state)
{
	(void)state;
	assert_text(escaped_cut(text_of("ab\\ncd"), 3), "ab\\n");
	assert_text(escaped_cut(text_of("a\\ud83d\\ude00b"), 2), "a");
	assert_text(escaped_cut(text_of("a\\ud83d\\ude00b"), 3), "a\\ud83d\\ude00");
	assert_text(escaped_cut(text_of("ab"), 9), "ab");
	assert_text(escaped_cut(text_of("ab"), 0), "");
}

static void counts_the_bytes_it_stands_for(void **state)
{
	(void)state;
	assert_int_equal(escaped_utf8(text_of("a\\n\\\\\\u0041")), 4);
	assert_int_equal(escaped_utf8(text_of("\\u00e9\\u20ac\\ud83d\\ude00")), 2 + 3 + 4);
	assert_int_equal(escaped_utf8(text_of("")), 0);
}

static void members_that_are_no_text_are_empty(void **state)
{
	static const char object[] = "{\"a\":\"x\\ny\",\"b\":5,\"c\":{\"a\":\"z\"}}";

	(void)state;
	assert_text(escaped_member(object, strlen(object), "a"), "x\\ny");
	assert_text(escaped_member(object, strlen(object), "b"), "");
	assert_text(escaped_member(object, strlen(object), "d"), "");
	assert_true(escaped_is(text_of("done"), "done"));
	assert_false(escaped_is(text_of("done"), "don"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_at_an_escaped_newline),
		cmocka_unit_test(trims_what_python_strips),
		cmocka_unit_test(cuts_no_pair_in_two),
		cmocka_unit_test(counts_the_bytes_it_stands_for),
		cmocka_unit_test(members_that_are_no_text_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
