// SPDX-License-Identifier: Apache-2.0
#include "doors_fixture.h"

/* The sum is of "secret". */
#define TOKENS                                                                                     \
	"tokens:\n  - {name: alice, sha256: "                                                      \
	"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}\n"

/* ---- where doors are ---- */

static void a_door_is_shut_until_the_config_opens_it(void **state)
{
	struct house house;

	(void)state;
	open_house(&house, "dialects: {dify: {enabled: true}}\n", NULL);
	says(&house, "PUT", "/piston/trees/1", "{}", 404, "\"kind\":\"not_found\"");
	says(&house, "GET", "/dify", NULL, 200, "dify");
	says(&house, "GET", "/v1/things/a", NULL, 200, "\"id\":\"a\"");
	house_done(&house);
}

static void by_default_it_is_at_its_name_and_where_nothing_else_is(void **state)
{
	struct house house;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}, dify: {enabled: true}}\n", NULL);
	says(&house, "POST", "/piston/show", "{}", 200, "piston @");
	says(&house, "POST", "/dify/show", "{}", 200, "dify @");
	/* Both want it: it is nobody's. */
	says(&house, "POST", "/show", "{}", 404, "\"kind\":\"not_found\"");
	says(&house, "PUT", "/trees/7", "{}", 200, "\"id\":\"7\"");
	/* Ours comes first. */
	is_ours(&house, "/open");
	says(&house, "GET", "/piston/open", NULL, 200, "piston");
	says(&house, "GET", "/piston/nowhere", NULL, 404, "piston refuses 404");
	says(&house, "GET", "/pistonx", NULL, 404, "\"kind\":\"not_found\"");
	says(&house, "DELETE", "/trees/7", NULL, 404, "piston refuses 405");
	house_done(&house);
}

static void at_the_root_by_name_it_wins(void **state)
{
	struct house house;

	(void)state;
	open_house(&house,
		   "dialects: {piston: {enabled: true, prefix: /}, dify: {enabled: true}}\n", NULL);
	says(&house, "GET", "/open", NULL, 200, "piston");
	says(&house, "POST", "/show", "{}", 200, "piston @");
	says(&house, "GET", "/piston/open", NULL, 404, "\"kind\":\"not_found\"");
	says(&house, "GET", "/v1/things/a", NULL, 200, "\"id\":\"a\"");
	house_done(&house);

	open_house(&house, "dialects: {piston: {enabled: true, prefix: /a/b}}\n", NULL);
	says(&house, "GET", "/a/b/open", NULL, 200, "piston");
	is_ours(&house, "/open");
	house_done(&house);
}

static void the_page_has_rows_of_its_own_and_needs_no_token(void **state)
{
	struct house house;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}}\n" TOKENS, NULL);
	says(&house, "GET", "/sheet", NULL, 200, "page @");
	says(&house, "HEAD", "/sheets/a", NULL, 200, "page @");
	says(&house, "POST", "/sheet", NULL, 404, "page refuses 405");
	assert_contains(house.world.finished.route, "none");
	says(&house, "GET", "/sheets/a/b", NULL, 401, "\"kind\":\"unauthorized\"");
	/* Any page may load it, and nothing else. */
	(void)prepare(&house.world, "GET", "/sheet");
	add_header(&house.world, "Sec-Fetch-Site", "cross-site");
	assert_contains(send_it(&house, NULL), "page @");
	gone(&house);
	(void)prepare(&house.world, "GET", "/open");
	add_header(&house.world, "Sec-Fetch-Site", "cross-site");
	assert_contains(send_it(&house, NULL), "Sec-Fetch-Site");
	gone(&house);
	house_done(&house);
}

static void a_door_in_front_leaves_us_the_methods_that_it_has_not(void **state)
{
	struct house house;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true, prefix: /}}\n", NULL);
	says(&house, "PUT", "/trees/ours", "{}", 200, "\"id\":\"ours\"");
	says(&house, "GET", "/trees/ours", NULL, 200, "page @");
	says(&house, "DELETE", "/trees/ours", NULL, 404, "piston refuses 405");
	house_done(&house);

	/* By default a door is behind us: what we know by one method is ours by every other. */
	open_house(&house, "dialects: {piston: {enabled: true}}\n", NULL);
	says(&house, "PUT", "/trees/ours", "{}", 404, "page refuses 405");
	says(&house, "PUT", "/piston/trees/ours", "{}", 200, "\"id\":\"ours\"");
	house_done(&house);
}

static void two_doors_at_one_place_are_an_error(void **state)
{
	struct house house;
	struct err err = {0};

	(void)state;
	assert_int_equal(house_init(&house,
				    "dialects: {piston: {enabled: true, prefix: /}, dify: "
				    "{enabled: true, prefix: /}}\n",
				    NULL, &err),
			 -EEXIST);
	assert_contains(err.text, "piston and dify both want POST /show");
	world_done(&house.world);
}

static void the_main_one_is_at_the_root_and_has_the_last_word(void **state)
{
	struct house house;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}}\n", "dify");
	says(&house, "POST", "/show", "{}", 200, "dify @");
	says(&house, "GET", "/piston/open", NULL, 200, "piston");
	says(&house, "PUT", "/trees/7", "{}", 200, "\"id\":\"7\"");
	says(&house, "GET", "/metrics", NULL, 200, "up 1");
	says(&house, "GET", "/nowhere", NULL, 404, "dify refuses 404");
	house_done(&house);
}

static void an_exclusive_one_has_only_v1_beside_it(void **state)
{
	struct house house;
	struct err err = {0};

	(void)state;
	open_house(&house, "dialects: {dify: {enabled: true}}\n", "piston");
	says(&house, "GET", "/open", NULL, 200, "piston");
	says(&house, "GET", "/dify", NULL, 404, "piston refuses 404");
	says(&house, "GET", "/metrics", NULL, 404, "piston refuses 404");
	says(&house, "GET", "/", NULL, 404, "piston refuses 404");
	says(&house, "GET", "/v1/things/a", NULL, 200, "\"id\":\"a\"");
	says(&house, "GET", "/v1/nothing", NULL, 404, "piston refuses 404");
	house_done(&house);

	assert_int_equal(house_init(&house, "", "nobody", &err), -ENOENT);
	world_done(&house.world);
}

/* ---- who may come in ---- */

static void tokens_and_hosts_are_checked_for_every_door(void **state)
{
	static const char yaml[] = "dialects: {piston: {enabled: true}}\n" TOKENS;
	struct house house;

	(void)state;
	open_house(&house, yaml, NULL);
	says(&house, "POST", "/piston/show", "{}", 401, "piston refuses 401");
	says(&house, "GET", "/piston/open", NULL, 200, "piston");

	(void)prepare(&house.world, "POST", "/piston/show");
	add_header(&house.world, "X-Token", "secret");
	add_header(&house.world, "Authorization", "Bearer another");
	assert_contains(send_it(&house, "{}"), "piston alice@127.0.0.1");
	gone(&house);

	(void)prepare(&house.world, "POST", "/piston/show");
	add_header(&house.world, "Authorization", "Bearer secret");
	assert_contains(send_it(&house, "{}"), "piston alice@");
	gone(&house);

	(void)prepare(&house.world, "GET", "/piston/open");
	house.world.request.headers[1] = "evil.example";
	assert_contains(send_it(&house, NULL), "piston refuses 403");
	gone(&house);
	house_done(&house);
}

static void pages_of_allowed_origins_may_ask(void **state)
{
	struct house house;

	(void)state;
	open_house(&house,
		   "origins: [\"http://localhost:3000\"]\ndialects: {piston: {enabled: true}, "
		   "dify: {enabled: true}}\n",
		   NULL);
	(void)prepare(&house.world, "OPTIONS", "/piston/show");
	add_header(&house.world, "Origin", "http://localhost:3000");
	add_header(&house.world, "Access-Control-Request-Headers", "x-token");
	(void)send_it(&house, NULL);
	assert_int_equal(house.world.request.status, 204);
	assert_contains(house.world.request.told, "Access-Control-Allow-Methods: POST");
	assert_contains(house.world.request.told, "Access-Control-Allow-Headers: x-token");
	gone(&house);

	(void)prepare(&house.world, "POST", "/piston/show");
	add_header(&house.world, "Origin", "http://localhost:3000");
	(void)send_it(&house, "{}");
	assert_contains(house.world.request.told,
			"Access-Control-Allow-Origin: http://localhost:3000");
	assert_contains(house.world.request.told, "Access-Control-Expose-Headers: X-Mine");
	assert_contains(house.world.request.told, "X-Mine: yes");
	gone(&house);

	/* Without CORS the method is simply none. */
	says(&house, "OPTIONS", "/dify/show", NULL, 404, "dify refuses 405");
	house_done(&house);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_door_is_shut_until_the_config_opens_it),
		cmocka_unit_test(by_default_it_is_at_its_name_and_where_nothing_else_is),
		cmocka_unit_test(at_the_root_by_name_it_wins),
		cmocka_unit_test(the_page_has_rows_of_its_own_and_needs_no_token),
		cmocka_unit_test(a_door_in_front_leaves_us_the_methods_that_it_has_not),
		cmocka_unit_test(two_doors_at_one_place_are_an_error),
		cmocka_unit_test(the_main_one_is_at_the_root_and_has_the_last_word),
		cmocka_unit_test(an_exclusive_one_has_only_v1_beside_it),
		cmocka_unit_test(tokens_and_hosts_are_checked_for_every_door),
		cmocka_unit_test(pages_of_allowed_origins_may_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
