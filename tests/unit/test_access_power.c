// SPDX-License-Identifier: Apache-2.0
/* Who may decide on held runs. */
#include <unistd.h>

#include "api/access.h"
#include "base/c.h"
#include "unit.h"

/* SHA-256 of "alice-secret" and "bob-secret". */
#define ALICE "0c848abb03307b06cf70cd4e29c157dc81af5e94ab3eb1d0c59a120269572376"
#define BOB "9f03ef1533a68d2f506f81ef463c1183a82a6bd40e45613f36e6fe1889cf1b99"

static const char with_tokens[] = "tokens:\n"
				  "  - {name: alice, sha256: " ALICE "}\n"
				  "  - {name: bob, sha256: " BOB ", oversee: true}\n";

struct desk {
	struct config *config;
	struct access *access;
};

static int make_from(void **state, const char *text)
{
	struct desk *desk = xnew(struct desk);
	struct err err = {0};

	assert_ok(config_parse(text, strlen(text), "test.yaml", &desk->config, &err), err);
	desk->access = access_new(desk->config);
	*state = desk;
	return 0;
}

static int make_open(void **state)
{
	return make_from(state, "");
}

static int make_with_tokens(void **state)
{
	return make_from(state, with_tokens);
}

static int end(void **state)
{
	struct desk *desk = *state;

	access_free(desk->access);
	config_free(desk->config);
	free(desk);
	return 0;
}

/* From loopback, to a host that is fine. */
static struct access_request good(void)
{
	return (struct access_request){.host = "localhost:7878", .peer = "127.0.0.1"};
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
		cmocka_unit_test_setup_teardown(without_tokens_a_key_decides, make_open, end),
		cmocka_unit_test_setup_teardown(
			with_tokens_only_an_overseer_and_the_daemons_user_decide, make_with_tokens,
			end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
