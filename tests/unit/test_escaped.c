// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "door/escaped.h"
#include "unit.h"

static void assert_text(struct escaped text, const char *want)
{
	assert_int_equal(text.size, strlen(want));
	assert_memory_equal(text.text, want, text.size);
}

static void lines_end_at_an_escaped_newline(void **state)
{
	(void)state;
	assert_text(escaped_line(escaped_plain("a\\nb\\n")), "a\\n");
	assert_text(escaped_line(escaped_plain("\\\\n\\nx")), "\\\\n\\n");
	assert_text(escaped_line(escaped_plain("\\u000ax")), "\\u000a");
	assert_text(escaped_line(escaped_plain("a\\\\n")), "");
	assert_text(escaped_line(escaped_plain("")), "");
}

static void trims_what_python_strips(void **state)
{
	(void)state;
	assert_text(escaped_trim(escaped_plain(" \\t\\n a \\\\ b\\r\\n\\u000b\\u00a0\\u3000")),
		    "a \\\\ b");
	assert_text(escaped_trim(escaped_plain("\\n \\u2003")), "");
	assert_text(escaped_trim(escaped_plain("\\\"x\\\"")), "\\\"x\\\"");
	assert_text(escaped_trim(escaped_plain("\\u200b")), "\\u200b");
}

static void cuts_no_pair_in_two(void **state)
{
	(void)state;
	assert_text(escaped_cut(escaped_plain("ab\\ncd"), 3), "ab\\n");
	assert_text(escaped_cut(escaped_plain("a\\ud83d\\ude00b"), 2), "a");
	assert_text(escaped_cut(escaped_plain("a\\ud83d\\ude00b"), 3), "a\\ud83d\\ude00");
	assert_text(escaped_cut(escaped_plain("ab"), 9), "ab");
	assert_text(escaped_cut(escaped_plain("ab"), 0), "");
}

static void counts_the_bytes_it_stands_for(void **state)
{
	(void)state;
	assert_int_equal(escaped_utf8(escaped_plain("a\\n\\\\\\u0041")), 4);
	assert_int_equal(escaped_utf8(escaped_plain("\\u00e9\\u20ac\\ud83d\\ude00")), 2 + 3 + 4);
	assert_int_equal(escaped_utf8(escaped_plain("")), 0);
}

static void members_that_are_no_text_are_empty(void **state)
{
	static const char json[] = "{\"a\":\"x\\ny\",\"b\":5,\"c\":{\"a\":\"z\"}}";
	const struct span object = {json, strlen(json)};

	(void)state;
	assert_text(escaped_member(object, "a"), "x\\ny");
	assert_text(escaped_member(object, "b"), "");
	assert_text(escaped_member(object, "d"), "");
	assert_true(escaped_is(escaped_plain("done"), "done"));
	assert_false(escaped_is(escaped_plain("done"), "don"));
}

static void cuts_between_characters(void **state)
{
	size_t chars = 3;

	(void)state;
	assert_text(escaped_cut_whole(escaped_plain("a\\n\\ud83d\\ude00b"), &chars),
		    "a\\n\\ud83d\\ude00");
	assert_int_equal(chars, 0);
	chars = 9;
	assert_text(escaped_cut_whole(escaped_plain("\\ud83d\\u0041"), &chars), "\\ud83d\\u0041");
	assert_int_equal(chars, 7);
}

static void joins_up_to_a_limit(void **state)
{
	const struct escaped parts[] = {escaped_plain("ab"), escaped_plain(""),
					escaped_plain("\\ncd")};
	struct buf buf;

	(void)state;
	buf_init(&buf, 64);
	assert_int_equal(escaped_put(&buf, parts, ARRAY_LEN(parts), 4), 0);
	assert_string_equal(buf_string(&buf), "\"ab\\nc\"");
	buf_done(&buf);
}

static void decodes(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 64);
	assert_int_equal(
		escaped_decode(&buf, escaped_plain("a\\\"\\\\\\/\\n\\u00e4\\u20ac\\ud83d\\ude00")),
		0);
	assert_string_equal(buf_string(&buf), "a\"\\/\n\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_at_an_escaped_newline),
		cmocka_unit_test(trims_what_python_strips),
		cmocka_unit_test(cuts_no_pair_in_two),
		cmocka_unit_test(counts_the_bytes_it_stands_for),
		cmocka_unit_test(members_that_are_no_text_are_empty),
		cmocka_unit_test(cuts_between_characters),
		cmocka_unit_test(joins_up_to_a_limit),
		cmocka_unit_test(decodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
