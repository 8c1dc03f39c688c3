// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "base/json.h"
#include "session/testimony.h"
#include "unit.h"

static int read_it(const char *text, struct verdict_testimony *testimony,
		   struct testimony_extras *extras)
{
	struct err err = {0};

	*testimony = (struct verdict_testimony){0};
	*extras = (struct testimony_extras){0};
	buf_init(&extras->missing, 4096);
	return testimony_read(text, strlen(text), testimony, extras, &err);
}

static void takes_what_the_protocol_says(void **state)
{
	struct verdict_testimony testimony;
	struct testimony_extras extras;

	(void)state;
	assert_int_equal(read_it("{\"kind\":\"exit\",\"exit_code\":7,\"message\":\"m\\u00e9\","
				 "\"remedy\":\"r\",\"truncated\":{\"files\":true,\"result\":false},"
				 "\"missing\":[\"/workspace/a\\nb\",\"c\"]}",
				 &testimony, &extras),
			 0);
	assert_true(testimony.is_given);
	assert_int_equal(testimony.kind, VERDICT_EXIT);
	assert_int_equal(testimony.exit_code, 7);
	assert_string_equal(testimony.message, "m\xc3\xa9");
	assert_string_equal(testimony.remedy, "r");
	assert_true(extras.is_files_cut);
	assert_false(extras.is_result_cut);
	assert_string_equal(buf_string(&extras.missing), "\"/workspace/a\\nb\",\"c\"");
	buf_done(&extras.missing);
}

static void where_the_runner_failed_is_one_of_two_words(void **state)
{
	static const struct {
		const char *text;
		enum testimony_failed failed;
	} rows[] = {
		{"{\"kind\":\"ok\"}", FAILED_NOT},
		{"{\"kind\":\"exception\",\"failed\":\"start\"}", FAILED_START},
		{"{\"kind\":\"exception\",\"failed\":\"end\"}", FAILED_END},
		{"{\"kind\":\"exception\",\"failed\":\"starts and ends\"}", FAILED_NOT},
		{"{\"kind\":\"exception\",\"failed\":true}", FAILED_NOT},
	};
	struct verdict_testimony testimony;
	struct testimony_extras extras;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(read_it(rows[i].text, &testimony, &extras), 0);
		assert_int_equal(extras.failed, rows[i].failed);
		buf_done(&extras.missing);
	}
}

static void refuses_all_else(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"null",
		"\"ok\"",
		"{\"kind\":1}",
		"{\"kind\":\"timeout\"}",
		"{\"kind\":\"ok\"} ok",
		"{\"kind\":\"ok\0\"}",
	};
	struct verdict_testimony testimony;
	struct testimony_extras extras;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(read_it(bad[i], &testimony, &extras), -EPROTO);
		assert_false(testimony.is_given);
		buf_done(&extras.missing);
	}
}

static void odd_types_count_as_absent(void **state)
{
	struct verdict_testimony testimony;
	struct testimony_extras extras;

	(void)state;
	assert_int_equal(read_it("{\"kind\":\"ok\",\"exit_code\":\"9\",\"message\":[],\"remedy\":5,"
				 "\"truncated\":7,\"missing\":{\"a\":1}}",
				 &testimony, &extras),
			 0);
	assert_int_equal(testimony.exit_code, 0);
	assert_string_equal(testimony.message, "");
	assert_int_equal(extras.missing.size, 0);
	buf_done(&extras.missing);
}

static void long_texts_are_cut_at_a_character(void **state)
{
	static const char json[] = "\"abcde\\u20acf\"";
	char text[8];

	(void)state;
	testimony_text(json, strlen(json), text, sizeof(text));
	assert_string_equal(text, "abcde");
	testimony_text("17", 2, text, sizeof(text));
	assert_string_equal(text, "");
}

static void texts_come_out_as_utf8(void **state)
{
	static const struct {
		const char *json, *text;
	} rows[] = {
		{"\"\"", ""},
		{"\"plain\"", "plain"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
		{"\"\\u00e9\\u20ac\\ud83d\\udc0d\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8d"},
		{"\"a\\ud800\"", "a\xef\xbf\xbd"},
		{"\"\\ud800\\n\"", "\xef\xbf\xbd\n"},
		{"\"\\udc00\\ud83dx\"", "\xef\xbf\xbd\xef\xbf\xbdx"},
		{"\"\xe2\x82\xac\"", "\xe2\x82\xac"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf buf;

		buf_init(&buf, 100);
		assert_true(json_is_valid(rows[i].json, strlen(rows[i].json)));
		assert_int_equal(testimony_decode(&buf, rows[i].json, strlen(rows[i].json)), 0);
		assert_string_equal(buf_string(&buf), rows[i].text);
		buf_done(&buf);
	}
}

static void passed_on_json_is_one_line_of_ascii(void **state)
{
	static const char json[] =
		"{\"a\":\n\t\"\xe2\x82\xac \xf0\x9f\x90\x8d\x7f\",\r\n\"b\":[1]}";
	struct buf buf;

	(void)state;
	buf_init(&buf, 4096);
	assert_true(json_is_valid(json, strlen(json)));
	assert_int_equal(testimony_ascii(&buf, json, strlen(json)), 0);
	assert_string_equal(buf_string(&buf),
			    "{\"a\":  \"\\u20ac \\ud83d\\udc0d\\u007f\",  \"b\":[1]}");
	assert_true(json_is_valid(buf.data, buf.size));
	buf_done(&buf);
}

static void json_that_does_not_fit_is_not_written_at_all(void **state)
{
	static const char json[] = "[\"\x7f\xc3\xa9\xf0\x9f\x90\x8d\"]";
	const size_t need = strlen("[\"\\u007f\\u00e9\\ud83d\\udc0d\"]");
	struct buf buf;

	(void)state;
	buf_init(&buf, need);
	assert_int_equal(testimony_ascii(&buf, json, strlen(json)), 0);
	assert_int_equal(buf.size, need);
	buf_done(&buf);
	buf_init(&buf, need - 1);
	assert_int_equal(testimony_ascii(&buf, json, strlen(json)), -EMSGSIZE);
	assert_int_equal(buf.size, 0);
	buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_the_protocol_says),
		cmocka_unit_test(where_the_runner_failed_is_one_of_two_words),
		cmocka_unit_test(refuses_all_else),
		cmocka_unit_test(odd_types_count_as_absent),
		cmocka_unit_test(long_texts_are_cut_at_a_character),
		cmocka_unit_test(texts_come_out_as_utf8),
		cmocka_unit_test(passed_on_json_is_one_line_of_ascii),
		cmocka_unit_test(json_that_does_not_fit_is_not_written_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
