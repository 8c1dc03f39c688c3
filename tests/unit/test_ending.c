// SPDX-License-Identifier: Apache-2.0
/* Texts of a Result, joined, trimmed and cut while they are still JSON. */
#include "base/c.h"
#include "dialect/ending.h"
#include "unit.h"

static void assert_text(struct escaped text, const char *wanted)
{
	assert_int_equal(text.size, strlen(wanted));
	assert_memory_equal(text.text, wanted, text.size);
}

static void reads_a_result(void **state)
{
	static const char json[] =
		"{\"verdict\":{\"kind\":\"exit\",\"exit_code\":3,\"message\":\"m\",\"remedy\":\"\"}"
		","
		"\"stdout\":\"a\\n\",\"stderr\":\"\",\"truncated\":{\"stdout\":true,\"stderr\":"
		"false},"
		"\"result\":{\"text/plain\":\"1\",\"application/json\":{\"x\":[1]}},"
		"\"error\":{\"traceback\":\"T\\n\"}}";
	struct ending ending;

	(void)state;
	assert_true(ending_read(json, strlen(json), &ending));
	assert_true(ending_is(&ending, "exit"));
	assert_int_equal(ending.exit_code, 3);
	assert_text(ending.out, "a\\n");
	assert_text(ending.err, "");
	assert_text(ending.traceback, "T\\n");
	assert_int_equal(ending.value.size, 9);
	assert_memory_equal(ending.value.at, "{\"x\":[1]}", 9);
	assert_true(ending.is_out_cut);
	assert_false(ending.is_err_cut);
}

static void knows_what_is_no_result(void **state)
{
	struct ending ending;

	(void)state;
	assert_false(ending_read("{}", 2, &ending));
	assert_false(ending_read("{\"verdict\":null}", 16, &ending));
	assert_false(ending_read("[]", 2, &ending));
	assert_false(ending_read("{\"verdict\":{\"kind\":\"12345678901234567\"}}", 41, &ending));
}

static void cuts_between_characters(void **state)
{
	size_t chars = 3;

	(void)state;
	assert_text(text_cut(text_of("a\\n\\ud83d\\ude00b"), &chars), "a\\n\\ud83d\\ude00");
	assert_int_equal(chars, 0);
	chars = 9;
	assert_text(text_cut(text_of("\\ud83d\\u0041"), &chars), "\\ud83d\\u0041");
	assert_int_equal(chars, 7);
}

static void joins_up_to_a_limit(void **state)
{
	const struct escaped parts[] = {text_of("ab"), text_of(""), text_of("\\ncd")};
	struct buf buf;

	(void)state;
	buf_init(&buf, 64);
	assert_int_equal(texts_put(&buf, parts, ARRAY_LEN(parts), 4), 0);
	assert_string_equal(buf_string(&buf), "\"ab\\nc\"");
	buf_done(&buf);
}

static void decodes(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 64);
	assert_int_equal(text_decode(&buf, text_of("a\\\"\\\\\\/\\n\\u00e4\\u20ac\\ud83d\\ude00")),
			 0);
	assert_string_equal(buf_string(&buf), "a\"\\/\n\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_result),
		cmocka_unit_test(knows_what_is_no_result),
		cmocka_unit_test(cuts_between_characters),
		cmocka_unit_test(joins_up_to_a_limit),
		cmocka_unit_test(decodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
