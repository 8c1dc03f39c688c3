// SPDX-License-Identifier: Apache-2.0
/* The power to decide on held runs: which callers have it. */
#include <unistd.h>

#include "access_unit.h"

static const char with_tokens[] = "tokens:\n"
				  "  - {name: alice, sha256: " ALICE "}\n"
				  "  - {name: bob, sha256: " BOB ", oversee: true}\n";

static int make_open(void **state)
{
	return desk_make(state, "");
}

static int make_with_tokens(void **state)
{
	return desk_make(state, with_tokens);
}

static bool may_decide(const struct desk *desk, const struct access_request *request)
{
	struct op_caller caller = {0};
	struct err err = {0};

	assert_ok(access_check(desk->access, request, &caller, &err), err);
	assert_int_equal(caller.is_overseer, caller.may_decide);
	return caller.may_decide;
}

static void without_tokens_a_key_decides(void **state)
{
	static const char *const wrong[] = {"", "the-ke", "the-key ", "the-keyy", "THE-KEY"};
	struct desk *desk = *state;
	struct access_request request = good();

	request.approve = "the-key";
	assert_false(may_decide(desk, &request)); /* there is none yet */
	request.approve = "";
	assert_false(may_decide(desk, &request));
	access_set_key(desk->access, "the-key");
	assert_false(may_decide(desk, &request));
	request.approve = NULL;
	assert_false(may_decide(desk, &request));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		request.approve = wrong[i];
		assert_false(may_decide(desk, &request));
	}
	request.approve = "the-key";
	assert_true(may_decide(desk, &request));
}

static void with_tokens_only_an_overseer_and_the_daemons_user_decide(void **state)
{
	struct desk *desk = *state;
	struct access_request request = good();
	struct access_request local = {.has_uid = true, .uid = geteuid()};

	access_set_key(desk->access, "the-key");
	request.authorization = "Bearer alice-secret";
	request.approve = "the-key";
	assert_false(may_decide(desk, &request));
	request.authorization = "Bearer bob-secret";
	assert_true(may_decide(desk, &request));
	assert_true(may_decide(desk, &local));
	local.uid = 0;
	assert_true(may_decide(desk, &local));
	local.authorization = "Bearer alice-secret"; /* whoever shows a token is that token */
	assert_false(may_decide(desk, &local));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_tokens_a_key_decides, make_open, desk_end),
		cmocka_unit_test_setup_teardown(
			with_tokens_only_an_overseer_and_the_daemons_user_decide, make_with_tokens,
			desk_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
