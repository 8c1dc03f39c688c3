// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "door/piston/range.h"
#include "unit.h"

static const struct version now = {{3, 11, 2}};

static void assert_each(const char *const *ranges, size_t count, bool is_in)
{
	for (size_t i = 0; i < count; i++) {
		if (range_has(ranges[i], &now) != is_in)
			fail_msg("'%s' %s 3.11.2", ranges[i], is_in ? "lacks" : "has");
	}
}

static void has_what_npm_says_it_has(void **state)
{
	static const char *const ranges[] = {
		"3.11.2",   "3.11",    "3.11.x",   "3",
		"3.x",      "3.X.X",   "*",        "",
		" ",        "x",       "v3.11.2",  "=3.11.2",
		"^3.10",    "^3",      "^3.11.2",  "~3.11",
		"~3.11.1",  "~3",      ">=3.8",    ">3.10",
		"<4",       "<=3.11",  ">=3.8 <4", ">= 3.8 < 4",
		"2 || 3",   "2||3.11", "3||",      "<3 || >=3.11.2",
		"  3.11  ",
	};

	(void)state;
	assert_each(ranges, ARRAY_LEN(ranges), true);
}

static void has_nothing_else(void **state)
{
	static const char *const ranges[] = {
		"3.11.1",   "3.12",        "2",
		"4.x",      "^3.12",       "^2",
		"^4",       "~3.10",       "~3.11.3",
		"~2",       ">3.11",       ">3.11.2",
		"<3.11",    "<3.11.2",     "<=3.10",
		">=3.12",   ">=3.8 <3.11", "2 || 4",
		"python3",  "latest",      "3.11.2-x",
		"3.11.2.1", "3 | 4",       "3..2",
		"-1",       "3.11.2;",     "99999999999999999999",
		"^0.3",     "|",           "3.10.0 - 3.12.0",
	};

	(void)state;
	assert_each(ranges, ARRAY_LEN(ranges), false);
}

static void a_caret_below_one_holds_more(void **state)
{
	static const struct version early = {{0, 3, 4}};

	(void)state;
	assert_true(range_has("^0.3.1", &early));
	assert_true(range_has("^0", &early));
	assert_false(range_has("^0.2", &early));
	assert_false(range_has("^0.0.4", &early));
}

static void reads_a_version_whole_or_not(void **state)
{
	struct version version = {0};

	(void)state;
	assert_true(version_parse("3.12.13", &version));
	assert_int_equal(version.parts[2], 13);
	assert_false(version_parse("3.12", &version));
	assert_false(version_parse("3.12.x", &version));
	assert_false(version_parse("3.12.1rc1", &version));
	assert_false(version_parse("3.12.1 ", &version));
	assert_false(version_parse("", &version));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_what_npm_says_it_has),
		cmocka_unit_test(has_nothing_else),
		cmocka_unit_test(a_caret_below_one_holds_more),
		cmocka_unit_test(reads_a_version_whole_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
