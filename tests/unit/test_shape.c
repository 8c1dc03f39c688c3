// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/shape.h"
#include "unit.h"

static bool fits(const char *type, const char *value)
{
	assert_true(json_is_valid(value, strlen(value)));
	return shape_fits(type, strlen(type), value, strlen(value));
}

static void a_value_has_the_type_that_is_asked(void **state)
{
	static const char *const values[] = {"\"x\"", "1", "1.5", "true", "null", "{}", "[]"};
	static const char *const types[][2] = {
		/* of `values`, in turn: does it fit? */
		{"text", "1000000"},   {"int", "0100000"},    {"num", "0110000"},
		{"bool", "0001000"},   {"object", "0000010"}, {"any", "1111111"},
		{"text?", "1000100"},  {"x|y", "1000000"},    {"a|b", "0000000"},
		{"text[]", "0000001"}, {"any[]?", "0000101"}, {"@None", "0000000"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		for (size_t k = 0; k < ARRAY_LEN(values); k++)
			assert_int_equal(fits(types[i][0], values[k]), types[i][1][k] == '1');
	}
}

static void an_integer_fits_into_64_bits(void **state)
{
	(void)state;
	assert_true(fits("int", "-123456789012345678"));
	assert_false(fits("int", "1234567890123456789"));
	assert_false(fits("int", "1e3"));
	assert_true(fits("num", "1e3"));
}

static void every_item_of_a_list_counts(void **state)
{
	(void)state;
	assert_true(fits("text[]", "[ \"a\" , \"b\" ]"));
	assert_false(fits("text[]", "[\"a\",1]"));
	assert_true(fits("any[][]", "[[1],[],[\"]\"]]"));
	assert_false(fits("any[][]", "[[1],2]"));
}

static void every_member_of_an_object_counts(void **state)
{
	(void)state;
	assert_true(fits("@File", "{\"path\":\"a\",\"size\":1,\"more\":[]}"));
	assert_true(fits("@File", "{\"path\":\"a\",\"size\":1,\"mime\":null}"));
	assert_false(fits("@File", "{}"));
	assert_false(fits("@File", "{\"path\":\"a\"}"));
	assert_false(fits("@File", "{\"path\":\"a\",\"size\":\"1\"}"));
	assert_false(fits("@File", "{\"path\":\"a\",\"size\":1,\"size\":[]}"));
	assert_false(fits("@File", "{\"path\":\"a\",\"size\":1,\"s\\u0069ze\":[]}"));
	assert_true(
		fits("@SavedState", "{\"base64\":null,\"names\":[],\"lost\":[{\"name\":\"a\"}]}"));
	assert_false(fits("@SavedState", "{\"base64\":null,\"names\":[],\"lost\":[{}]}"));
}

static void an_object_with_too_many_members_does_not_fit(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 4096);
	assert_int_equal(buf_text(&buf, "{\"a\":1"), 0);
	for (int i = 0; i < 63; i++)
		assert_int_equal(buf_text(&buf, ",\"a\":1"), 0);
	assert_int_equal(buf_text(&buf, "}"), 0);
	assert_true(fits("@Table", buf_string(&buf)));
	buf_cut(&buf, buf.size - 1);
	assert_int_equal(buf_text(&buf, ",\"a\":1}"), 0);
	assert_false(fits("@Table", buf_string(&buf)));
	buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_has_the_type_that_is_asked),
		cmocka_unit_test(an_integer_fits_into_64_bits),
		cmocka_unit_test(every_item_of_a_list_counts),
		cmocka_unit_test(every_member_of_an_object_counts),
		cmocka_unit_test(an_object_with_too_many_members_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
