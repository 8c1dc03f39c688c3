// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "unit.h"

static void takes_errno_and_its_text(void **state)
{
	struct err err = {0};

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_sys(&err, "open %s", "/x"), -ENOENT);
	assert_int_equal(err.kind, ERR_INTERNAL);
	assert_int_equal(err.num, ENOENT);
	assert_string_equal(err.text, "open /x: No such file or directory");
}

static void never_returns_success_for_a_failure(void **state)
{
	struct err err = {0};

	(void)state;
	errno = 0;
	assert_true(err_sys(&err, "odd") < 0);
	assert_true(err_wrap(&err, "odder") < 0);
}

static void wraps_in_front_and_keeps_kind_and_number(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(err_set(&err, ERR_BUSY, EAGAIN, "%d runs", 3), -EAGAIN);
	assert_int_equal(err_wrap(&err, "pool %s", "base"), -EAGAIN);
	assert_int_equal(err.kind, ERR_BUSY);
	assert_string_equal(err.text, "pool base: 3 runs");
}

static void names_the_field_that_is_wrong(void **state)
{
	struct err err = {0};
	char long_name[2000] = "";

	(void)state;
	assert_int_equal(err_field(&err, ERR_BAD_REQUEST, EINVAL, "a: b", "is %d", 3), -EINVAL);
	assert_string_equal(err.text, "a: b: is 3");
	assert_int_equal(err.field, strlen("a: b"));
	assert_int_equal(err_wrap(&err, "here"), -EINVAL);
	assert_int_equal(err.field, 0);

	assert_int_equal(err_blame(&err, "policy"), -EINVAL);
	assert_string_equal(err.text, "policy: here: a: b: is 3");
	assert_int_equal(err.field, strlen("policy"));
	(void)err_set(&err, ERR_CONFLICT, EBUSY, "no");
	assert_int_equal(err.field, 0);

	memset(long_name, 'x', sizeof(long_name) - 1);
	(void)err_field(&err, ERR_BAD_REQUEST, EINVAL, long_name, "no");
	assert_int_equal(err.field, 120);
	assert_string_equal(err.text + err.field, ": no");
}

static void cuts_what_is_too_long(void **state)
{
	struct err err = {0};
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)err_set(&err, ERR_CONFLICT, EBUSY, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	for (int i = 0; i < 5; i++)
		(void)err_wrap(&err, "%s", text);
	assert_true(strlen(err.text) < sizeof(err.text));
	errno = EPERM;
	(void)err_sys(&err, "%s", text);
	assert_contains(err.text, "Operation not permitted");
}

static void every_kind_has_its_word(void **state)
{
	(void)state;
	assert_string_equal(err_kind_name(ERR_BAD_REQUEST), "bad_request");
	assert_string_equal(err_kind_name(ERR_UNAUTHORIZED), "unauthorized");
	assert_string_equal(err_kind_name(ERR_FORBIDDEN), "forbidden");
	assert_string_equal(err_kind_name(ERR_NOT_FOUND), "not_found");
	assert_string_equal(err_kind_name(ERR_CONFLICT), "conflict");
	assert_string_equal(err_kind_name(ERR_TOO_LARGE), "too_large");
	assert_string_equal(err_kind_name(ERR_BUSY), "busy");
	assert_string_equal(err_kind_name(ERR_UNSUPPORTED), "unsupported");
	assert_string_equal(err_kind_name(ERR_INTERNAL), "internal");
	assert_string_equal(err_kind_name((enum err_kind)99), "internal");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_errno_and_its_text),
		cmocka_unit_test(never_returns_success_for_a_failure),
		cmocka_unit_test(wraps_in_front_and_keeps_kind_and_number),
		cmocka_unit_test(names_the_field_that_is_wrong),
		cmocka_unit_test(cuts_what_is_too_long),
		cmocka_unit_test(every_kind_has_its_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
