// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "session/head.h"
#include "unit.h"

static unsigned failed_count, exited_count;

static void on_failed(void *user, struct head *head, const struct err *why)
{
	(void)user;
	(void)head;
	(void)why;
	failed_count++;
}

static void on_exited(void *user, struct head *head, const struct box_exit *facts,
		      const struct err *why)
{
	(void)user;
	(void)head;
	(void)facts;
	(void)why;
	exited_count++;
}

static const struct head_calls calls = {.failed = on_failed, .exited = on_exited};

/* Launch tells of the end of head 1, as it does of one that a former viv had. */
static void tell_exit(struct sandbox *sandbox)
{
	const struct box_exit facts = {0};
	const struct err none = {0};

	failed_count = exited_count = 0;
	sandbox_box_calls.exited(sandbox, 1, &facts, &none);
}

static void the_end_of_an_earlier_head_is_not_that_of_one_that_comes(void **state)
{
	struct sandbox sandbox = {.state = SANDBOX_TAKEN, .head_bits = 2};
	struct head head = {.sandbox = &sandbox, .number = 1, .calls = &calls};

	(void)state;
	sandbox.heads[1] = &head;
	head.state = HEAD_COMING;
	tell_exit(&sandbox);
	assert_int_equal(failed_count + exited_count, 0);
	assert_int_equal(sandbox.head_bits, 0); /* launch has let go of the number */

	sandbox.head_bits = 2;
	head.state = HEAD_PLACING;
	tell_exit(&sandbox);
	assert_int_equal(failed_count + exited_count, 0);
	assert_int_equal(head.state, HEAD_PLACING);
	assert_int_equal(sandbox.head_bits, 2); /* and has it again, for this one */
}

static void one_that_is_up_has_an_end(void **state)
{
	struct sandbox sandbox = {.state = SANDBOX_TAKEN, .head_bits = 2};
	struct head head = {.sandbox = &sandbox, .number = 1, .calls = &calls, .state = HEAD_READY};

	(void)state;
	sandbox.heads[1] = &head;
	tell_exit(&sandbox);
	assert_int_equal(exited_count, 1);
	assert_int_equal(head.state, HEAD_OVER);
	assert_int_equal(sandbox.head_bits, 0);
}

static void one_that_comes_fails_with_its_sandbox(void **state)
{
	struct head head = {.number = 1, .calls = &calls, .state = HEAD_COMING};
	struct err why = {0};

	(void)state;
	failed_count = exited_count = 0;
	(void)err_set(&why, ERR_INTERNAL, ECHILD, "viv-launch is gone");
	head_exited(&head, NULL, &why);
	assert_int_equal(failed_count, 1);
	assert_int_equal(head.state, HEAD_OVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_an_earlier_head_is_not_that_of_one_that_comes),
		cmocka_unit_test(one_that_is_up_has_an_end),
		cmocka_unit_test(one_that_comes_fails_with_its_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
