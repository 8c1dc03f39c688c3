// SPDX-License-Identifier: Apache-2.0
#include "doors_fixture.h"

/* ---- bodies ---- */

static void members_come_as_the_route_wants_them(void **state)
{
	struct house house;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}}\n", NULL);
	(void)prepare(&house.world, "POST", "/piston/show");
	add_header(&house.world, "X-It", "it");
	house.world.request.query[0] = "q";
	house.world.request.query[1] = "v";
	assert_contains(send_it(&house, "{\"code\":\"a\\nb\",\"z\":[{}],\"number\":7}"),
			"code=a\nb number=7 size=35 x=it q=v");
	gone(&house);
	says(&house, "POST", "/piston/show", "{\"code\":5}", 200, "code=none number=-1");
	says(&house, "POST", "/piston/show", NULL, 200, "code=none number=-1 size=0");
	says(&house, "POST", "/piston/show", "{\"code\":", 400, "piston refuses 400");
	says(&house, "PUT", "/piston/trees/a%20b", "[1, {\"x\": null}]", 200,
	     "{\"got\":[1,{\"x\":null}],\"id\":\"a b\"}");
	says(&house, "PUT", "/piston/trees/1", "[1", 400, "piston refuses 400");
	assert_int_equal(begin_count, 4);
	assert_int_equal(ended_count, 4);
	house_done(&house);
}

static void bodies_have_the_limits_of_the_router(void **state)
{
	char body[BODY_MAX + 2];
	struct house house;

	(void)state;
	memset(body, ' ', sizeof(body) - 1);
	body[sizeof(body) - 1] = '\0';
	open_house(&house, "dialects: {piston: {enabled: true}}\n", NULL);
	says(&house, "PUT", "/piston/trees/1", body, 413, "piston refuses 413");
	says(&house, "POST", "/piston/show", body, 413, "piston refuses 413");
	(void)prepare(&house.world, "POST", "/piston/show");
	house.world.request.body_size = 1 << 20;
	router_calls.head(house.world.router, &house.world.request);
	assert_int_equal(house.world.request.status, 413);
	gone(&house);
	house_done(&house);
}

static void a_refusal_waits_for_the_end_of_a_small_body(void **state)
{
	struct house house;
	struct http_request *request = &house.world.request;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}}\n", NULL);
	is_full_house = true;
	(void)prepare(&house.world, "POST", "/piston/show");
	request->body_size = 2;
	router_calls.head(house.world.router, request);
	assert_int_equal(begin_count, 1);
	assert_false(request->is_answered);
	assert_int_equal(router_calls.body(house.world.router, request, "{}", 2), 2);
	assert_false(request->is_answered);
	router_calls.complete(house.world.router, request);
	assert_int_equal(request->status, 429);
	assert_contains(request->told, "Retry-After: 1");
	gone(&house);
	assert_int_equal(ended_count, 1);
	house_done(&house);
}

/* ---- streams and clients that leave ---- */

static void a_stream_flows_and_holds_back(void **state)
{
	static char block[200 << 10];
	struct house house;
	struct http_request *request = &house.world.request;
	char data[100];

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}}\n", NULL);
	(void)call(&house, "GET", "/piston/wait", NULL);
	assert_false(request->is_answered);
	exchange_set_header(kept, "Cache-Control", "no-cache");
	exchange_queue(kept, 200, "text/event-stream");
	assert_true(request->is_stream);
	assert_contains(request->told, "Cache-Control: no-cache");
	assert_int_equal(request->source.read(request->source.user, data, sizeof(data)), 0);
	assert_true(exchange_write(kept, "hello", 5));
	assert_true(request->ready_count > 0);
	assert_int_equal(request->source.read(request->source.user, data, sizeof(data)), 5);
	assert_memory_equal(data, "hello", 5);

	assert_true(exchange_write(kept, block, sizeof(block)));
	assert_false(exchange_write(kept, block, sizeof(block)));
	while (drained_count == 0)
		assert_int_equal(request->source.read(request->source.user, block, sizeof(block)),
				 sizeof(block));
	assert_int_equal(drained_count, 1);
	exchange_end(kept);
	while (request->source.read(request->source.user, block, sizeof(block)) > 0)
		;
	assert_int_equal(request->source.read(request->source.user, block, sizeof(block)), -1);
	gone(&house);
	assert_int_equal(ended_count, 1);
	assert_int_equal(door_left_count, 0);
	house_done(&house);
}

static void a_client_that_leaves_is_told_once_and_the_answer_goes_nowhere(void **state)
{
	static char block[300 << 10];
	struct house house;
	struct http_request *request = &house.world.request;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}}\n", NULL);
	(void)call(&house, "GET", "/piston/wait", NULL);
	router_calls.left(house.world.router, request);
	gone(&house);
	assert_int_equal(door_left_count, 1);
	assert_int_equal(ended_count, 0);
	assert_null(exchange_header(kept, "Host"));
	say(kept, 200, "for nobody");
	assert_int_equal(ended_count, 1);

	/* In the middle of a stream. */
	(void)call(&house, "GET", "/piston/wait", NULL);
	exchange_queue(kept, 200, "text/plain");
	(void)exchange_write(kept, "x", 1);
	gone(&house);
	assert_int_equal(door_left_count, 2);
	assert_true(exchange_write(kept, "y", 1));
	exchange_end(kept);
	assert_int_equal(ended_count, 2);

	/* With more than it takes waiting for it. */
	(void)call(&house, "GET", "/piston/wait", NULL);
	exchange_queue(kept, 200, "text/plain");
	assert_false(exchange_write(kept, block, sizeof(block)));
	gone(&house);
	assert_int_equal(drained_count, 1);
	assert_true(exchange_write(kept, block, sizeof(block)));
	exchange_end(kept);
	assert_int_equal(ended_count, 3);

	/* Held by somebody beyond its answer. */
	(void)call(&house, "GET", "/piston/wait", NULL);
	exchange_hold(kept);
	say(kept, 200, "now");
	gone(&house);
	assert_int_equal(ended_count, 3);
	exchange_release(kept);
	assert_int_equal(ended_count, 4);
	house_done(&house);
}

static void a_door_that_is_closed_stays_for_its_last_call(void **state)
{
	struct house house;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}}\n", NULL);
	(void)call(&house, "GET", "/piston/wait", NULL);
	gone(&house);
	house_done(&house);
	say(kept, 200, "late");
	assert_int_equal(ended_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_come_as_the_route_wants_them),
		cmocka_unit_test(bodies_have_the_limits_of_the_router),
		cmocka_unit_test(a_refusal_waits_for_the_end_of_a_small_body),
		cmocka_unit_test(a_stream_flows_and_holds_back),
		cmocka_unit_test(a_client_that_leaves_is_told_once_and_the_answer_goes_nowhere),
		cmocka_unit_test(a_door_that_is_closed_stays_for_its_last_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
