// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "mcp/mcp_inside.h"
#include "unit.h"

static int read_text(const char *text, struct mcp_message *message, enum mcp_code *ret_code)
{
	struct err err = {0};
	int r;

	*message = (struct mcp_message){0};
	r = mcp_message_read(text, strlen(text), message, ret_code, &err);
	if (r < 0)
		assert_int_not_equal(err.kind, ERR_NONE);
	return r;
}

static void is_refused(const char *text, enum mcp_code want)
{
	struct mcp_message message;
	enum mcp_code code = MCP_INTERNAL;

	assert_true(read_text(text, &message, &code) < 0);
	assert_int_equal(code, want);
	mcp_message_done(&message);
}

static void arguments_and_ids_stay_text_wherever_they_stand(void **state)
{
	static const char *const texts[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"m\",\"params\":{\"name\":\"t\","
		"\"arguments\":{\"a\":[1,{}]},\"z\":1}}",
		" {\"params\" : {\"arguments\" : {\"a\":[1,{}]} , "
		"\"name\":\"t\",\"z\":1},\"method\":\"m\", "
		"\"id\" :1e400 ,\"jsonrpc\":\"2.0\"} ",
		"{\"\\u0069d\":1e400,\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"name\":"
		"\"t\","
		"\"z\":1,\"ar\\u0067uments\":{\"a\":[1,{}]}}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct mcp_message message;
		enum mcp_code code;

		assert_int_equal(read_text(texts[i], &message, &code), 0);
		assert_string_equal(message.id, "1e400");
		assert_string_equal(message.method, "m");
		assert_string_equal(mcp_text(message.params, "name"), "t");
		assert_int_equal(json_integer_value(json_object_get(message.params, "z")), 1);
		assert_int_equal(message.arguments_size, strlen("{\"a\":[1,{}]}"));
		assert_memory_equal(message.arguments, "{\"a\":[1,{}]}", message.arguments_size);
		mcp_message_done(&message);
	}
}

static void only_the_arguments_of_the_parameters_are_cut_out(void **state)
{
	struct mcp_message message;
	enum mcp_code code;

	(void)state;
	assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"arguments\":{\"id\":5},"
				   "\"params\":{\"x\":{\"arguments\":6,\"id\":7}}}",
				   &message, &code),
			 0);
	assert_string_equal(message.id, "");
	assert_null(message.arguments);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(message.params, "x"),
							    "arguments")),
			 6);
	mcp_message_done(&message);
}

static void a_message_that_is_no_json_rpc_is_refused(void **state)
{
	(void)state;
	is_refused("", MCP_PARSE_ERROR);
	is_refused("{", MCP_PARSE_ERROR);
	is_refused("{\"jsonrpc\":\"2.0\",\"method\":\"m\"} {}", MCP_PARSE_ERROR);
	is_refused("[{\"jsonrpc\":\"2.0\",\"method\":\"m\"}]", MCP_INVALID_REQUEST);
	is_refused("5", MCP_INVALID_REQUEST);
	is_refused("{}", MCP_INVALID_REQUEST);
	is_refused("{\"jsonrpc\":\"2.0\"}", MCP_INVALID_REQUEST);
	is_refused("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", MCP_INVALID_REQUEST);
	is_refused("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", MCP_INVALID_REQUEST);
	is_refused("{\"jsonrpc\":\"2.0\",\"method\":\"m\\u0000\"}", MCP_INVALID_REQUEST);
	is_refused("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[]}", MCP_INVALID_REQUEST);
	is_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}", MCP_INVALID_REQUEST);
	is_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"arguments\":{},"
		   "\"arguments\":{}}}",
		   MCP_INVALID_REQUEST);
	is_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":5}}",
		   MCP_INVALID_PARAMS);
}

static void an_answer_to_us_has_an_id_and_no_method(void **state)
{
	struct mcp_message message;
	enum mcp_code code;

	(void)state;
	assert_int_equal(
		read_text("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}", &message, &code), 0);
	assert_null(message.method);
	assert_string_equal(message.id, "\"a\"");
	mcp_message_done(&message);
	is_refused("{\"jsonrpc\":\"2.0\",\"result\":{}}", MCP_INVALID_REQUEST);
}

static void headers_say_what_the_body_says(void **state)
{
	(void)state;
	assert_true(mcp_header_is("x", "x"));
	assert_true(mcp_header_is(" \tx ", "x"));
	assert_false(mcp_header_is("X", "x"));
	assert_false(mcp_header_is(NULL, ""));
	assert_true(mcp_header_is("=?base64?SGVsbG8=?=", "Hello"));
	assert_false(mcp_header_is("=?base64?SGVsbG8?=", "Hello"));
	assert_false(mcp_header_is("=?base64?SGVs!G8=?=", "Hello"));
	assert_true(mcp_header_is("=?base64?SGVsbG8=", "=?base64?SGVsbG8="));
	assert_false(mcp_header_is("=?base64?YQBi?=", "a"));
	assert_true(mcp_header_is_json("5", "5", 1));
	assert_true(mcp_header_is_json("a", "\"a\"", 3));
	assert_false(mcp_header_is_json("\"a\"", "\"a\"", 3));
	assert_false(mcp_header_is_json("a", "\"a\\u0000\"", 9));
}

static void a_list_of_media_types_is_looked_through(void **state)
{
	(void)state;
	assert_true(mcp_accepts("application/json, text/event-stream", "text/event-stream"));
	assert_true(mcp_accepts("TEXT/event-stream;q=0.5", "text/event-stream"));
	assert_true(mcp_accepts("*/*", "application/json"));
	assert_true(mcp_accepts("text/*", "text/event-stream"));
	assert_false(mcp_accepts("text/*", "application/json"));
	assert_false(mcp_accepts("application/jsonx", "application/json"));
	assert_false(mcp_accepts("", "application/json"));
	assert_false(mcp_accepts(NULL, "application/json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_and_ids_stay_text_wherever_they_stand),
		cmocka_unit_test(only_the_arguments_of_the_parameters_are_cut_out),
		cmocka_unit_test(a_message_that_is_no_json_rpc_is_refused),
		cmocka_unit_test(an_answer_to_us_has_an_id_and_no_method),
		cmocka_unit_test(headers_say_what_the_body_says),
		cmocka_unit_test(a_list_of_media_types_is_looked_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
