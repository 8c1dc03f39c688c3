// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>

#include "router_fixture.h"

static void a_path_and_a_method_are_an_op(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	assert_string_equal(ask(&world, "GET", "/v1/things/a%20b", NULL),
			    "{\"id\":\"a b\",\"offset\":0,\"who\":\"@127.0.0.1\"}");
	assert_int_equal(world.request.status, 200);
	assert_string_equal(world.request.type, "application/json");
	assert_contains(world.request.told, "Cache-Control: no-store");
	assert_null(strstr(world.request.told, "Access-Control"));
	end(&world);
	assert_int_equal(world.finished_count, 1);
	assert_string_equal(world.finished.route, "/v1/things/{id}");
	assert_string_equal(world.finished.method, "GET");
	assert_int_equal(world.finished.status, 200);

	/* The route with the longer literal part wins. */
	(void)ask(&world, "GET", "/v1/things/special", NULL);
	assert_int_equal(world.request.status, 200);
	end(&world);
	assert_string_equal(world.finished.route, "/v1/things/special");

	(void)ask(&world, "HEAD", "/v1/things/x", NULL);
	assert_int_equal(world.request.status, 200);
	end(&world);
	(void)ask(&world, "DELETE", "/v1/things/x", NULL);
	assert_int_equal(world.request.status, 204);
	assert_string_equal(world.request.type, "");
	end(&world);
	world_done(&world);
}

static void what_is_not_there_is_said(void **state)
{
	static const struct {
		const char *method, *path;
		unsigned status;
		const char *says;
	} rows[] = {
		{"GET", "/", 404, "\"kind\":\"not_found\""},
		{"GET", "/v1/things", 404, "/openapi.json"},
		{"GET", "/v1/things/", 404, "not_found"},
		{"GET", "/v1/things/a/b", 404, "not_found"},
		{"GET", "/v1//things/a", 404, "not_found"},
		{"PUT", "/v1/things/a/files/", 404, "not_found"},
		{"POST", "/v1/things/x", 405, "this path takes GET, HEAD, DELETE, not POST"},
		{"BREW", "/v1/things/x", 405, "\"kind\":\"unsupported\""},
		{"GET", "/v1/things/%zz", 400, "\"field\":\"id\""},
		{"GET", "/v1/things/%00", 400, "\"field\":\"id\""},
	};
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_contains(ask(&world, rows[i].method, rows[i].path, NULL), rows[i].says);
		assert_int_equal(world.request.status, rows[i].status);
		if (rows[i].status == 405)
			assert_contains(world.request.told, "Allow: GET, HEAD, DELETE\n");
		end(&world);
	}
	assert_int_equal(world.finished.status, 400);
	world_done(&world);
}

static void every_kind_of_error_has_its_status(void **state)
{
	static const struct {
		const char *text;
		unsigned status;
		const char *header;
	} rows[] = {
		{"bad_request", 400, ""},
		{"unauthorized", 401, "WWW-Authenticate: Bearer"},
		{"forbidden", 403, ""},
		{"not_found", 404, ""},
		{"conflict", 409, ""},
		{"too_large", 413, ""},
		{"busy", 503, "Retry-After: 1\n"},
		{"quota", 429, "Retry-After: 7\n"},
		{"unsupported", 501, ""},
		{"internal", 500, ""},
	};
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char body[100];
		json_t *tree, *error;
		bool is_busy = rows[i].status == 503 || rows[i].status == 429;

		(void)snprintf(body, sizeof(body), "{\"text\":\"%s\"}", rows[i].text);
		tree = json_loads(ask(&world, "POST", "/v1/fail", body), 0, NULL);
		error = json_object_get(tree, "error");
		assert_int_equal(world.request.status, rows[i].status);
		assert_contains(world.request.told, rows[i].header);
		assert_string_equal(json_string_value(json_object_get(error, "kind")),
				    is_busy ? "busy" : rows[i].text);
		/* An error that the caller cannot mend names no field. */
		assert_int_equal(json_object_get(error, "field") != NULL,
				 !is_busy && rows[i].status != 500);
		json_decref(tree);
		end(&world);
	}
	world_done(&world);
}

static void what_is_wrong_in_a_body_is_named(void **state)
{
	static const struct {
		const char *body;
		unsigned status;
		const char *says;
	} rows[] = {
		{"{\"txet\":1}", 400, "\"field\":\"txet\""},
		{"{\"txet\":1}", 400, "did you mean text?"},
		{"{\"text\":1}", 400, "\"field\":\"text\""},
		{"{\"text\":1", 400, "the body is not JSON"},
		{"[]", 400, "the body must be a JSON object\",\"remedy\":"},
		{"{\"a b: c\":1}", 400, "\"field\":\"a b: c\""},
	};
	struct world world;

	(void)state;
	world_init(&world, "", 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_contains(ask(&world, "POST", "/v1/fail", rows[i].body), rows[i].says);
		assert_int_equal(world.request.status, rows[i].status);
		end(&world);
	}
	assert_contains(ask(&world, "POST", "/v1/fail", "{\"text\":\"foreign\"}"),
			"\"message\":\"text: of another program\"}");
	end(&world);
	(void)prepare(&world, "GET", "/v1/things/x");
	world.request.query[0] = "ofset";
	world.request.query[1] = "1";
	assert_contains(send_prepared(&world, NULL), "\"field\":\"ofset\"");
	end(&world);
	world_done(&world);
}

static const char tokens[] = "tokens:\n  - name: alice\n    sha256: "
			     /* sha256 of "secret" */
			     "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n";

static void without_a_token_nobody_gets_in(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, tokens, 0);
	assert_contains(ask(&world, "GET", "/v1/things/x", NULL), "\"kind\":\"unauthorized\"");
	assert_int_equal(world.request.status, 401);
	assert_contains(world.request.told, "WWW-Authenticate: Bearer");
	end(&world);
	/* Nor learns which paths there are. */
	(void)ask(&world, "GET", "/nowhere", NULL);
	assert_int_equal(world.request.status, 401);
	end(&world);
	(void)ask(&world, "GET", "/metrics", NULL);
	assert_int_equal(world.request.status, 401);
	end(&world);

	(void)prepare(&world, "GET", "/v1/things/x");
	add_header(&world, "Authorization", "Bearer secret");
	assert_contains(send_prepared(&world, NULL), "alice@127.0.0.1");
	end(&world);
	(void)ask(&world, "GET", "/open", NULL);
	assert_int_equal(world.request.status, 200);
	end(&world);
	world_done(&world);
}

static void pages_of_strangers_are_refused(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, "origins: [\"http://my.host:3000\"]\n", 0);
	(void)prepare(&world, "GET", "/open");
	world.request.headers[1] = "evil.example";
	(void)send_prepared(&world, NULL);
	assert_int_equal(world.request.status, 403);
	end(&world);

	(void)prepare(&world, "GET", "/open");
	add_header(&world, "Origin", "http://evil.example");
	(void)send_prepared(&world, NULL);
	assert_int_equal(world.request.status, 403);
	assert_null(strstr(world.request.told, "Access-Control"));
	end(&world);

	(void)prepare(&world, "GET", "/open");
	add_header(&world, "Origin", "http://my.host:3000");
	(void)send_prepared(&world, NULL);
	assert_int_equal(world.request.status, 200);
	assert_contains(world.request.told, "Access-Control-Allow-Origin: http://my.host:3000\n");
	assert_contains(world.request.told, "Vary: Origin\n");
	end(&world);
	world_done(&world);
}

static void a_preflight_needs_no_token(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, tokens, 0);
	(void)prepare(&world, "OPTIONS", "/v1/things/x");
	add_header(&world, "Origin", "http://localhost:7878");
	add_header(&world, "Access-Control-Request-Method", "DELETE");
	(void)send_prepared(&world, NULL);
	assert_int_equal(world.request.status, 204);
	assert_contains(world.request.told, "Access-Control-Allow-Methods: GET, HEAD, DELETE\n");
	assert_contains(world.request.told, "Access-Control-Allow-Headers: Authorization");
	assert_contains(world.request.told, "Allow: GET, HEAD, DELETE\n");
	end(&world);

	(void)prepare(&world, "OPTIONS", "/v1/things/x");
	add_header(&world, "Origin", "http://evil.example");
	(void)send_prepared(&world, NULL);
	assert_int_equal(world.request.status, 403);
	end(&world);
	(void)ask(&world, "OPTIONS", "/nowhere", NULL);
	assert_int_equal(world.request.status, 404);
	end(&world);
	world_done(&world);
}

static void it_has_two_routes_of_its_own(void **state)
{
	static char text[1 << 20];
	struct world world;
	json_t *tree;
	int64_t size;

	(void)state;
	world_init(&world, "", 0);
	assert_string_equal(ask(&world, "GET", "/metrics", NULL), "up 1\n");
	assert_contains(world.request.type, "text/plain; version=0.0.4");
	end(&world);
	prepare(&world, "GET", "/openapi.json");
	(void)send_prepared(&world, NULL);
	size = world.request.source.read(world.request.source.user, text, sizeof(text));
	tree = json_loadb(text, (size_t)size, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(tree, "openapi")), "3.1.0");
	assert_non_null(
		json_object_get(json_object_get(tree, "paths"), "/v1/things/{id}/files/{path}"));
	json_decref(tree);
	end(&world);
	world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_and_a_method_are_an_op),
		cmocka_unit_test(what_is_not_there_is_said),
		cmocka_unit_test(every_kind_of_error_has_its_status),
		cmocka_unit_test(what_is_wrong_in_a_body_is_named),
		cmocka_unit_test(without_a_token_nobody_gets_in),
		cmocka_unit_test(pages_of_strangers_are_refused),
		cmocka_unit_test(a_preflight_needs_no_token),
		cmocka_unit_test(it_has_two_routes_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
