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

/* ---- numbers ---- */

#define NUMBERS (BOX_HEADS_MAX - 1) /* those that forks get */

static struct head filled[BOX_HEADS_MAX];

/* A sandbox with this many heads that stay, the first of them number 0. */
static struct sandbox fill(uint32_t count, uint32_t sessions)
{
	struct sandbox sandbox = {.state = SANDBOX_TAKEN, .sessions = sessions};

	for (uint32_t i = 0; i < count; i++) {
		filled[i] = (struct head){.number = i, .calls = &calls, .state = HEAD_READY};
		sandbox.heads[i] = &filled[i];
		sandbox.head_bits |= i > 0 ? 1U << i : 0;
	}
	return sandbox;
}

static void checkpoints_leave_numbers_for_looks_and_for_going_back(void **state)
{
	struct sandbox sandbox = fill(NUMBERS - 2 - 1, 1);

	(void)state;
	assert_int_equal(head_room(&sandbox, HEAD_FOR_CHECKPOINT, 0), 0);
	assert_int_equal(head_room(&sandbox, HEAD_FOR_CHECKPOINT, 1), -1);
	assert_int_equal(head_room(&sandbox, HEAD_FOR_BACK, 1), 3);
	assert_int_equal(head_room(&sandbox, HEAD_FOR_LOOK, 1), 2);
	sandbox.sessions = 4;
	assert_int_equal(head_room(&sandbox, HEAD_FOR_CHECKPOINT, 0), -3);

	/* The end of any checkpoint makes room, also that of number 0. */
	sandbox.sessions = 1;
	sandbox.heads[0] = NULL;
	assert_int_equal(head_room(&sandbox, HEAD_FOR_CHECKPOINT, 1), 0);
}

static void a_branch_takes_its_first_checkpoint_into_account(void **state)
{
	struct sandbox sandbox = fill(2, 1);

	(void)state;
	assert_true(head_room(&sandbox, HEAD_FOR_BRANCH, 13) >= 0);
	assert_true(head_room(&sandbox, HEAD_FOR_BRANCH, 14) < 0);
	sandbox = fill(2 * 14, 14);
	assert_true(head_room(&sandbox, HEAD_FOR_LOOK, 2) >= 0);
	assert_true(head_room(&sandbox, HEAD_FOR_BRANCH, 1) < 0);
}

static void heads_that_come_and_go_do_not_count_against_those_that_stay(void **state)
{
	struct sandbox sandbox = fill(BOX_HEADS_MAX, 1);

	(void)state;
	assert_int_equal(head_room(&sandbox, HEAD_FOR_CHECKPOINT, 0), -4);
	assert_int_equal(head_room(&sandbox, HEAD_FOR_BACK, 1), -1);
	assert_false(head_must_wait(&sandbox)); /* nothing will end by itself */

	filled[1].is_look = true;
	filled[2].state = HEAD_OVER; /* its end is not reported yet */
	sandbox.heads[3] = NULL;     /* ... nor that of this one */
	assert_int_equal(head_room(&sandbox, HEAD_FOR_CHECKPOINT, 0), -1);
	assert_int_equal(head_room(&sandbox, HEAD_FOR_BACK, 1), -1);
	assert_true(head_must_wait(&sandbox));

	/* The number of a head that ended can be used by the one that replaces it. */
	sandbox.head_bits &= ~(1U << 2);
	assert_int_equal(head_room(&sandbox, HEAD_FOR_BACK, 1), 0);
	assert_int_equal(head_room(&sandbox, HEAD_FOR_LOOK, 1), -2);
	assert_false(head_must_wait(&sandbox));
}

static unsigned room_count;

static void on_room(void *user)
{
	(void)user;
	room_count++;
}

static void the_others_are_told_of_a_number_that_is_free(void **state)
{
	static const struct head_calls waiting = {.exited = on_exited, .room = on_room};
	struct sandbox sandbox = fill(3, 2);

	(void)state;
	room_count = 0;
	filled[0].calls = filled[2].calls = &waiting;
	sandbox.heads[1] = NULL;
	tell_exit(&sandbox);
	assert_int_equal(room_count, 2);
	assert_int_equal(exited_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_an_earlier_head_is_not_that_of_one_that_comes),
		cmocka_unit_test(one_that_is_up_has_an_end),
		cmocka_unit_test(one_that_comes_fails_with_its_sandbox),
		cmocka_unit_test(checkpoints_leave_numbers_for_looks_and_for_going_back),
		cmocka_unit_test(a_branch_takes_its_first_checkpoint_into_account),
		cmocka_unit_test(heads_that_come_and_go_do_not_count_against_those_that_stay),
		cmocka_unit_test(the_others_are_told_of_a_number_that_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
