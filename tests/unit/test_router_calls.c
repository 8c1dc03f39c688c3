// SPDX-License-Identifier: Apache-2.0
#include "router_fixture.h"

#define CODE "{\"code\":\"print(1)\"}"

static void bodies_have_a_limit(void **state)
{
	char long_body[BODY_MAX + 2];
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	/* Announced: refused before a byte of it is sent. */
	(void)prepare(&world, "PUT", "/v1/things/a/files/b");
	world.request.body_size = BODY_MAX + 1;
	router_calls.head(world.router, &world.request);
	assert_int_equal(world.request.status, 413);
	end(&world);

	/* In chunks: when it is too much. */
	memset(long_body, ' ', sizeof(long_body) - 1);
	long_body[sizeof(long_body) - 1] = '\0';
	assert_contains(ask(&world, "PUT", "/v1/things/a/files/b", long_body), "larger than 1000");
	assert_int_equal(world.request.status, 413);
	end(&world);
	assert_contains(ask(&world, "POST", "/v1/fail", long_body), "larger than 1000");
	assert_int_equal(world.request.status, 413);
	end(&world);

	(void)prepare(&world, "POST", "/v1/fail");
	add_header(&world, "Content-Encoding", "gzip");
	assert_contains(send_prepared(&world, "{}"), "Content-Encoding gzip");
	assert_int_equal(world.request.status, 501);
	end(&world);
	world_done(&world);
}

/* Only a little of it is left, so it is read and the connection can be used again. */
static void a_small_bad_body_is_read_to_its_end(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	(void)prepare(&world, "POST", "/v1/fail");
	world.request.body_size = 12;
	router_calls.head(world.router, &world.request);
	assert_int_equal(router_calls.body(world.router, &world.request, "{\"txet\":", 8), 8);
	assert_int_equal(router_calls.body(world.router, &world.request, "\"x\"}", 4), 4);
	assert_false(world.request.is_answered);
	router_calls.complete(world.router, &world.request);
	assert_int_equal(world.request.status, 400);
	assert_contains(buf_string(&world.request.body), "\"field\":\"txet\"");
	end(&world);
	world_done(&world);
}

static void all_bodies_together_have_a_limit(void **state)
{
	struct http_request first = {
		.method = "PUT", .path = "/v1/things/a/files/b", .headers = {"Host", "localhost"}};
	struct world world;

	(void)state;
	world_init(&world, "", 10);
	router_calls.head(world.router, &first);
	assert_int_equal(router_calls.body(world.router, &first, "12345678", 8), 8);
	assert_false(first.is_answered);

	assert_contains(ask(&world, "PUT", "/v1/things/c/files/d", "12345"), "\"kind\":\"busy\"");
	assert_int_equal(world.request.status, 503);
	end(&world);

	router_calls.complete(world.router, &first);
	assert_string_equal(buf_string(&first.body), "a|b|12345678");
	assert_int_equal(first.status, 201);
	fake_gone(&first, &router_calls, world.router);
	assert_string_equal(ask(&world, "PUT", "/v1/things/c/files/d/%2F", "12345"), "c|d//|12345");
	end(&world);
	world_done(&world);
}

static void what_the_client_wants_is_told(void **state)
{
	static const struct {
		const char *accept;
		bool wants;
	} rows[] = {
		{NULL, false},
		{"*/*", false},
		{"application/x-ndjson", true},
		{"application/json, Application/X-NDJSON; q=0.5", true},
		{"application/x-ndjson;q=0", false},
		{"application/x-ndjson;q=0.0", false},
		{"application/x-ndjsonx", false},
	};
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)prepare(&world, "POST", "/v1/wait");
		if (rows[i].accept != NULL)
			add_header(&world, "Accept", rows[i].accept);
		(void)send_prepared(&world, CODE);
		assert_int_equal(waiting->wants_events, rows[i].wants);
		assert_false(waiting->is_cancelled_with_client);
		answer_text(waiting, 0, "{}");
		assert_contains(world.request.told, "Vivarium-Run: run_1\n");
		end(&world);
	}
	(void)prepare(&world, "POST", "/v1/wait");
	world.request.query[0] = "on_disconnect";
	world.request.query[1] = "cancel";
	(void)send_prepared(&world, CODE);
	assert_true(waiting->is_cancelled_with_client);
	answer_text(waiting, 202, "{}");
	assert_int_equal(world.request.status, 202);
	end(&world);

	(void)prepare(&world, "POST", "/v1/wait");
	world.request.query[0] = "on_disconnect";
	world.request.query[1] = "explode";
	assert_contains(send_prepared(&world, CODE), "\"field\":\"on_disconnect\"");
	end(&world);
	world_done(&world);
}

static void a_client_that_leaves_is_told_once(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	(void)ask(&world, "POST", "/v1/wait", CODE);
	router_calls.left(world.router, &world.request);
	assert_int_equal(left_count, 1);
	answer_text(waiting, 0, "{}");
	end(&world);
	assert_int_equal(left_count, 1);
	assert_int_equal(world.finished_count, 1);
	world_done(&world);
}

static void an_answer_may_come_after_everybody_has_gone(void **state)
{
	const struct op_source source = {read_nothing, count_close, &close_count};
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	(void)ask(&world, "POST", "/v1/wait", CODE);
	end(&world);
	assert_int_equal(left_count, 1);
	assert_int_equal(world.finished_count, 0);
	op_wake(waiting);
	answer_text(waiting, 0, "{}");
	assert_int_equal(world.finished_count, 1);

	(void)ask(&world, "POST", "/v1/wait", CODE);
	end(&world);
	/* The router waits for it, too. */
	router_close(world.router);
	world.router = NULL;
	op_stream(waiting, 0, "application/x-ndjson", -1, &source);
	assert_int_equal(close_count, 1);
	assert_int_equal(world.finished_count, 2);
	world_done(&world);
}

static void a_stream_is_read_by_the_transport(void **state)
{
	const struct op_source source = {read_nothing, count_close, &close_count};
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	(void)ask(&world, "POST", "/v1/wait", CODE);
	op_stream(waiting, 0, "application/x-ndjson", -1, &source);
	assert_int_equal(world.request.status, 200);
	assert_string_equal(world.request.type, "application/x-ndjson");
	assert_contains(world.request.told, "Vivarium-Run: run_1\n");
	op_wake(waiting);
	assert_int_equal(world.request.ready_count, 1);
	/* A client that reads an answer which has begun does not count as waiting. */
	router_calls.left(world.router, &world.request);
	assert_int_equal(left_count, 0);
	end(&world);
	assert_int_equal(close_count, 1);
	world_done(&world);
}

static void a_client_may_go_before_its_body_is_whole(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	(void)prepare(&world, "POST", "/v1/wait");
	router_calls.head(world.router, &world.request);
	assert_int_equal(router_calls.body(world.router, &world.request, "{\"co", 4), 4);
	end(&world);
	assert_int_equal(world.finished.status, 0);
	assert_int_equal(left_count, 0);
	world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_have_a_limit),
		cmocka_unit_test(a_small_bad_body_is_read_to_its_end),
		cmocka_unit_test(all_bodies_together_have_a_limit),
		cmocka_unit_test(what_the_client_wants_is_told),
		cmocka_unit_test(a_client_that_leaves_is_told_once),
		cmocka_unit_test(an_answer_may_come_after_everybody_has_gone),
		cmocka_unit_test(a_stream_is_read_by_the_transport),
		cmocka_unit_test(a_client_may_go_before_its_body_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
