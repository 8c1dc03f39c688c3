// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <string.h>

#include "base/near.h"
#include "unit.h"

static void counts_the_letters_that_must_change(void **state)
{
	(void)state;
	assert_int_equal(near_distance("default", "default"), 0);
	assert_int_equal(near_distance("defualt", "default"), 2);
	assert_int_equal(near_distance("", "abc"), 3);
	assert_int_equal(near_distance("abc", ""), 3);
	assert_int_equal(near_distance("kitten", "sitting"), 3);
}

static void is_near_nothing_with_a_long_name(void **state)
{
	char text[NEAR_NAME_MAX + 2] = "";

	(void)state;
	memset(text, 'a', NEAR_NAME_MAX);
	assert_int_equal(near_distance(text, text), 0);
	text[NEAR_NAME_MAX] = 'a';
	assert_true(near_distance(text, "a") == SIZE_MAX);
	assert_true(near_distance("a", text) == SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_the_letters_that_must_change),
		cmocka_unit_test(is_near_nothing_with_a_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
