// SPDX-License-Identifier: Apache-2.0
#include "dialect/doors.h"
#include "router_fixture.h"

/* ---- two doors that show what they were given ---- */

static unsigned begin_count, ended_count, door_left_count, drained_count;
static bool is_full_house;
static struct door_call *kept; /* one that waits for the test */

static void say(struct door_call *call, unsigned status, const char *text)
{
	struct buf body;

	buf_init(&body, 2000);
	assert_int_equal(buf_text(&body, text), 0);
	door_answer(call, status, &body);
}

static void refuse(struct door_call *call, unsigned status, const struct err *err)
{
	char text[700];

	(void)snprintf(text, sizeof(text), "%s refuses %u: %s", call->door->name, status,
		       err->text);
	say(call, status == 405 ? 404 : status, text);
}

static void count_left(struct door_call *call)
{
	(void)call;
	door_left_count++;
}

static void count_ended(struct door_call *call)
{
	(void)call;
	ended_count++;
}

static void count_drained(struct door_call *call)
{
	(void)call;
	drained_count++;
}

static void begin(struct door_call *call)
{
	begin_count++;
	call->ended = count_ended;
	if (is_full_house)
		say(call, 429, "full");
}

static void show(struct door_call *call)
{
	struct run_bytes code = {0};
	json_t *number = door_member(call, "number");
	bool has_code = door_large(call, "code", true, &code);
	char text[300];

	(void)snprintf(
		text, sizeof(text), "%s %s@%s code=%s%.*s number=%lld size=%u x=%s q=%s",
		call->door->name, call->caller.name, call->caller.peer, has_code ? "" : "none",
		(int)code.size, code.size > 0 ? (const char *)code.data : "",
		number != NULL ? json_integer_value(number) : -1, (unsigned)door_body_size(call),
		door_header(call, "X-It"), door_query(call, "q"));
	door_set_header(call, "X-Mine", "yes");
	say(call, 200, text);
}

static void show_tree(struct door_call *call)
{
	struct err err = {0};
	json_t *tree = door_json(call, &err);

	if (tree == NULL)
		refuse(call, door_status(&err), &err);
	else
		door_answer_tree(call, 200,
				 json_pack("{s:O,s:s}", "got", tree, "id", door_var(call, "id")));
}

static void wait(struct door_call *call)
{
	kept = call;
	call->left = count_left;
	call->ended = count_ended;
	call->drained = count_drained;
}

static const struct op_param members[] = {
	{.name = "code", .type = OP_BYTES},
	{.name = "number", .type = OP_TEXT},
};

static const struct door_route piston_routes[] = {
	{.method = "POST", .path = "/show", DOOR_MEMBERS(members), .begin = begin, .run = show},
	{.method = "PUT", .path = "/trees/{id}", .run = show_tree},
	{.method = "GET", .path = "/wait", .is_open = true, .run = wait},
	{.method = "GET", .path = "/open", .is_open = true, .run = show},
};

static const struct door_route dify_routes[] = {
	{.method = "POST", .path = "/show", DOOR_MEMBERS(members), .run = show},
	{.method = "GET", .path = "", .run = show},
};

static const struct door piston = {.name = "piston",
				   .routes = piston_routes,
				   .route_count = ARRAY_LEN(piston_routes),
				   DOOR_CONFIG(piston),
				   .token_header = "X-Token",
				   .has_cors = true,
				   .exposes = "X-Mine",
				   .refuse = refuse};
static const struct door dify = {.name = "dify",
				 .routes = dify_routes,
				 .route_count = ARRAY_LEN(dify_routes),
				 DOOR_CONFIG(dify),
				 .refuse = refuse};
static const struct door *const table[] = {&piston, &dify, NULL};

/* ---- the house ---- */

struct house {
	struct world world;
	struct doors *doors;
};

static int house_init(struct house *house, const char *yaml, const char *alone, struct err *err)
{
	struct doors_settings settings = {.table = table, .alone = alone, .body_max = BODY_MAX};
	int r;

	begin_count = ended_count = door_left_count = drained_count = 0;
	is_full_house = false;
	kept = NULL;
	house->doors = NULL;
	world_init(&house->world, yaml, 0);
	house->world.engine.config = house->world.config;
	settings.engine = &house->world.engine;
	settings.access = house->world.access;
	settings.router = house->world.router;
	r = doors_new(&settings, &house->doors, err);
	return r;
}

static void house_done(struct house *house)
{
	doors_close(house->doors);
	world_done(&house->world);
}

static const char *send_it(struct house *house, const char *body)
{
	fake_ask(&house->world.request, &doors_calls, house->doors, body);
	return buf_string(&house->world.request.body);
}

static const char *call(struct house *house, const char *method, const char *path, const char *body)
{
	(void)prepare(&house->world, method, path);
	return send_it(house, body);
}

static void gone(struct house *house)
{
	fake_gone(&house->world.request, &doors_calls, house->doors);
}

static void says(struct house *house, const char *method, const char *path, const char *body,
		 unsigned status, const char *part)
{
	assert_contains(call(house, method, path, body), part);
	assert_int_equal(house->world.request.status, status);
	gone(house);
}

/* The op of our own that answers with nothing. */
static void is_ours(struct house *house, const char *path)
{
	assert_string_equal(call(house, "GET", path, NULL), "");
	assert_int_equal(house->world.request.status, 200);
	gone(house);
}

static void open_house(struct house *house, const char *yaml, const char *alone)
{
	struct err err = {0};

	assert_ok(house_init(house, yaml, alone, &err), err);
}

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

static void alone_it_has_only_v1_beside_it(void **state)
{
	struct house house;
	struct err err = {0};

	(void)state;
	open_house(&house, "", "piston");
	says(&house, "GET", "/open", NULL, 200, "piston");
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
	/* of "secret" */
	static const char yaml[] =
		"dialects: {piston: {enabled: true}}\ntokens:\n  - {name: alice, sha256: "
		"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}\n";
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
	open_house(&house, "dialects: {piston: {enabled: true}, dify: {enabled: true}}\n", NULL);
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
	doors_calls.head(house.doors, &house.world.request);
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
	doors_calls.head(house.doors, request);
	assert_int_equal(begin_count, 1);
	assert_false(request->is_answered);
	assert_int_equal(request->calls->body(request->calls_user, request, "{}", 2), 2);
	assert_false(request->is_answered);
	request->calls->complete(request->calls_user, request);
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
	door_set_header(kept, "Cache-Control", "no-cache");
	door_stream(kept, 200, "text/event-stream");
	assert_true(request->is_stream);
	assert_contains(request->told, "Cache-Control: no-cache");
	assert_int_equal(request->source.read(request->source.user, data, sizeof(data)), 0);
	assert_true(door_write(kept, "hello", 5));
	assert_true(request->ready_count > 0);
	assert_int_equal(request->source.read(request->source.user, data, sizeof(data)), 5);
	assert_memory_equal(data, "hello", 5);

	assert_true(door_write(kept, block, sizeof(block)));
	assert_false(door_write(kept, block, sizeof(block)));
	while (drained_count == 0)
		assert_int_equal(request->source.read(request->source.user, block, sizeof(block)),
				 sizeof(block));
	assert_int_equal(drained_count, 1);
	door_end(kept);
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
	struct house house;
	struct http_request *request = &house.world.request;

	(void)state;
	open_house(&house, "dialects: {piston: {enabled: true}}\n", NULL);
	(void)call(&house, "GET", "/piston/wait", NULL);
	request->calls->left(request->calls_user, request);
	gone(&house);
	assert_int_equal(door_left_count, 1);
	assert_int_equal(ended_count, 0);
	assert_null(door_header(kept, "Host"));
	say(kept, 200, "for nobody");
	assert_int_equal(ended_count, 1);

	/* In the middle of a stream. */
	(void)call(&house, "GET", "/piston/wait", NULL);
	door_stream(kept, 200, "text/plain");
	(void)door_write(kept, "x", 1);
	gone(&house);
	assert_int_equal(door_left_count, 2);
	assert_true(door_write(kept, "y", 1));
	door_end(kept);
	assert_int_equal(ended_count, 2);

	/* Held by somebody beyond its answer. */
	(void)call(&house, "GET", "/piston/wait", NULL);
	door_hold(kept);
	say(kept, 200, "now");
	gone(&house);
	assert_int_equal(ended_count, 2);
	door_release(kept);
	assert_int_equal(ended_count, 3);
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
		cmocka_unit_test(a_door_is_shut_until_the_config_opens_it),
		cmocka_unit_test(by_default_it_is_at_its_name_and_where_nothing_else_is),
		cmocka_unit_test(at_the_root_by_name_it_wins),
		cmocka_unit_test(two_doors_at_one_place_are_an_error),
		cmocka_unit_test(alone_it_has_only_v1_beside_it),
		cmocka_unit_test(tokens_and_hosts_are_checked_for_every_door),
		cmocka_unit_test(pages_of_allowed_origins_may_ask),
		cmocka_unit_test(members_come_as_the_route_wants_them),
		cmocka_unit_test(bodies_have_the_limits_of_the_router),
		cmocka_unit_test(a_refusal_waits_for_the_end_of_a_small_body),
		cmocka_unit_test(a_stream_flows_and_holds_back),
		cmocka_unit_test(a_client_that_leaves_is_told_once_and_the_answer_goes_nowhere),
		cmocka_unit_test(a_door_that_is_closed_stays_for_its_last_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
