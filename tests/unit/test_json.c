// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "base/json.h"
#include "unit.h"

static void assert_written(const char *bytes, size_t size, const char *json)
{
	struct buf buf;

	buf_init(&buf, 10000);
	assert_int_equal(json_put_string(&buf, bytes, size), 0);
	assert_string_equal(buf_string(&buf), json);
	assert_true(json_is_valid(buf.data, buf.size));
	buf_done(&buf);
}

static void writes_ascii_only(void **state)
{
	(void)state;
	assert_written("", 0, "\"\"");
	assert_written("plain ~", 7, "\"plain ~\"");
	assert_written("a\"b\\c/\n\r\t", 9, "\"a\\\"b\\\\c/\\n\\r\\t\"");
	assert_written("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
	assert_written("\xc3\xa9", 2, "\"\\u00e9\"");
	assert_written("\xe2\x82\xac", 3, "\"\\u20ac\"");
	assert_written("\xf0\x9f\x90\x8d", 4, "\"\\ud83d\\udc0d\"");
	assert_written("\xf4\x8f\xbf\xbf", 4, "\"\\udbff\\udfff\"");
}

static void bytes_that_are_not_utf8_become_one_mark_each(void **state)
{
	(void)state;
	assert_written("\xff", 1, "\"\\ufffd\"");
	assert_written("a\x80z", 3, "\"a\\ufffdz\"");
	assert_written("\xc0\xaf", 2, "\"\\ufffd\\ufffd\"");            /* overlong */
	assert_written("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
	assert_written("\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	assert_written("\xe2\x82", 2, "\"\\ufffd\\ufffd\""); /* cut */
	assert_written("\xe2\x82x", 3, "\"\\ufffd\\ufffdx\"");
}

static void leaves_the_buffer_alone_when_it_does_not_fit(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 6);
	assert_int_equal(buf_text(&buf, "ab"), 0);
	assert_int_equal(json_put_text(&buf, "cde"), -EMSGSIZE);
	assert_int_equal(json_put_text(&buf, "\n\n"), -EMSGSIZE);
	assert_string_equal(buf_string(&buf), "ab");
	assert_int_equal(json_put_text(&buf, "cd"), 0);
	assert_string_equal(buf_string(&buf), "ab\"cd\"");
	buf_done(&buf);
}

static const char *const valid[] = {
	"null",
	"true",
	"false",
	"0",
	"-0",
	"-1.5e+10",
	"1E5",
	"0.1",
	"123456789012345678901234567890",
	"\"\"",
	"\"a\\u00e9\\n\\/\\b\\f\\r\\t\\\"\\\\\"",
	"\"\\ud83d\\udc0d\"",
	"\"\\ud83d\"",
	"\"\xc3\xa9 \xf0\x9f\x90\x8d\"",
	"\"\x7f\"",
	"[]",
	"{}",
	" [ 1 , 2 ] ",
	"[[],[{}]]",
	"{\"a\":1,\"a\":2}",
	"{ \"a\" : [ { \"b\" : null } ] , \"c\" : \"\" }",
	"\t\n\r 1",
};

static void a_template_quotes_and_escapes(void **state)
{
	const char *volatile none = NULL;
	struct buf buf;

	(void)state;
	buf_init(&buf, 1000);
	assert_int_equal(json_put(&buf, "{'a':%s,'b':%s,'c':%.*s,'d':[%i,%i],", "it's \"x\"", none,
				  2, "xyz", true, false),
			 0);
	assert_int_equal(
		json_put(&buf, "'n':[%d,%u,%zu,%llu,%.3f]}", -1, 2U, (size_t)3, 1ULL << 63, 0.5),
		0);
	assert_string_equal(buf_string(&buf),
			    "{\"a\":\"it's \\\"x\\\"\",\"b\":null,\"c\":\"xy\",\"d\":[true,false],"
			    "\"n\":[-1,2,3,9223372036854775808,0.500]}");
	assert_true(json_is_valid(buf.data, buf.size));
	buf_done(&buf);
}

static void a_template_tells_of_any_piece_that_did_not_fit(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 16);
	assert_int_equal(json_put(&buf, "[%s]", "longer than there is room"), -EMSGSIZE);
	assert_int_equal(json_put(&buf, "[]"), -EMSGSIZE);
	buf_done(&buf);
}

static void takes_what_rfc_8259_allows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(valid); i++) {
		if (!json_is_valid(valid[i], strlen(valid[i])))
			fail_msg("%s is valid", valid[i]);
	}
}

static void refuses_a_number_that_is_too_long(void **state)
{
	char digits[JSON_NUMBER_MAX + 1];

	(void)state;
	memset(digits, '9', sizeof(digits));
	assert_true(json_is_valid(digits, JSON_NUMBER_MAX));
	assert_false(json_is_valid(digits, JSON_NUMBER_MAX + 1));
}

static const char *const invalid[] = {
	"",
	" ",
	"nul",
	"nullx",
	"True",
	"NaN",
	"Infinity",
	"-Infinity",
	"+1",
	"01",
	"-",
	"1.",
	".5",
	"1e",
	"1e+",
	"0x10",
	"1 2",
	"'a'",
	"\"",
	"\"\\\"",
	"\"\\x\"",
	"\"\\u12\"",
	"\"\\u12g4\"",
	"\"a\nb\"",
	"\"a\tb\"",
	"\"\xff\"",
	"\"\xc0\xaf\"",
	"\"\xed\xa0\x80\"",
	"\"\xf4\x90\x80\x80\"",
	"[",
	"]",
	"[1",
	"[1,",
	"[1,]",
	"[,1]",
	"[1 2]",
	"[}",
	"{",
	"}",
	"{]",
	"{\"a\"",
	"{\"a\":",
	"{\"a\":1",
	"{\"a\":1,",
	"{\"a\":1,}",
	"{a:1}",
	"{1:2}",
	"{\"a\" 1}",
	"{,}",
	"[1]]",
	"{}{}",
	"// x\n1",
	"\xef\xbb\xbf[]",
};

static void refuses_everything_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(invalid); i++) {
		if (json_is_valid(invalid[i], strlen(invalid[i])))
			fail_msg("%s is not valid", invalid[i]);
	}
	assert_false(json_is_valid("1\0", 2));
	assert_false(json_is_valid("\"\\\0\"", 4));
	assert_false(json_is_valid(NULL, 0));
}

static void depth_has_a_limit_and_costs_no_stack(void **state)
{
	static char text[1 << 20];

	(void)state;
	memset(text, '[', sizeof(text));
	assert_false(json_is_valid(text, sizeof(text)));
	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	assert_true(json_is_valid(text, 2 * (size_t)JSON_DEPTH_MAX));
	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	assert_false(json_is_valid(text, 2 * (size_t)JSON_DEPTH_MAX + 2));
}

static void assert_found(const char *json, const char *name, const char *value)
{
	const char *found = NULL;
	size_t size = 0;
	bool is_found = json_find(json, strlen(json), name, &found, &size);

	if (value == NULL) {
		assert_false(is_found);
		return;
	}
	if (!is_found)
		fail_msg("%s is in %s", name, json);
	assert_int_equal(size, strlen(value));
	assert_memory_equal(found, value, size);
}

static void finds_a_member_at_the_top(void **state)
{
	(void)state;
	assert_found("{\"a\":1,\"b\":[2]}", "b", "[2]");
	assert_found(" { \"a\" : { \"b\" : 1 } , \"b\" : \"x\" } ", "b", "\"x\"");
	assert_found("{\"a\":{\"b\":1}}", "b", NULL);
	assert_found("{\"a\":\"b\"}", "b", NULL);
	assert_found("{}", "a", NULL);
	assert_found("[1]", "a", NULL);
	assert_found("\"a\"", "a", NULL);
	assert_found("{\"ab\":1}", "a", NULL);
	assert_found("{\"a\":1}", "ab", NULL);
	assert_found("{\"\":7}", "", "7");
	assert_found("{\"a\":1,\"a\":2}", "a", "1");
}

static void knows_a_name_behind_its_escapes(void **state)
{
	(void)state;
	assert_found("{\"\\u0074ype\":\"verdict\",\"type\":\"x\"}", "type", "\"verdict\"");
	assert_found("{\"\\ud83d\\udc0d\":1}", "\xf0\x9f\x90\x8d", "1");
	assert_found("{\"\xc3\xa9\":1}", "\xc3\xa9", "1");
	assert_found("{\"a\\\"b\":1}", "a\"b", "1");
	assert_found("{\"typ\\u0000e\":1}", "type", NULL);
}

static void goes_from_member_to_member(void **state)
{
	static const char text[] = " { \"a\" : 1 , \"\\u0062\":[{\"a\":2},\"x,\"],\"a\":{} } ";
	static const char *const values[] = {"1", "[{\"a\":2},\"x,\"]", "{}"};
	struct json_member member = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		assert_true(json_next(text, strlen(text), &member));
		assert_int_equal(member.size, strlen(values[i]));
		assert_memory_equal(member.value, values[i], member.size);
		assert_true(json_is_named(&member, i == 1 ? "b" : "a"));
		assert_false(json_is_named(&member, i == 1 ? "a" : "b"));
	}
	assert_false(json_next(text, strlen(text), &member));
	for (const char *const *none = (const char *const[]){"{}", "[1]", "", "{\"a\"", NULL};
	     *none != NULL; none++) {
		member = (struct json_member){0};
		assert_false(json_next(*none, strlen(*none), &member));
	}
}

static void long_strings_are_checked_to_the_byte(void **state)
{
	(void)state;
	for (unsigned byte = 1; byte < 256; byte++) {
		for (size_t at = 1; at < 20; at++) {
			char text[] = "\"aaaaaaaaaaaaaaaaaaaaaaaa\"";
			bool is_good = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
			struct buf buf;

			text[at] = (char)byte;
			assert_int_equal(json_is_valid(text, strlen(text)), is_good);
			buf_init(&buf, 1000);
			assert_int_equal(json_put_string(&buf, text + 1, strlen(text) - 2), 0);
			assert_true(json_is_valid(buf.data, buf.size));
			assert_int_equal(buf.size == strlen(text), is_good && byte != 0x7f);
			buf_done(&buf);
		}
	}
}

static void items_of_lists_and_objects_come_one_by_one(void **state)
{
	static const char list[] = "[1, \"a]\\\"\" ,{\"b\":[2]},[],null]";
	static const char *const items[] = {"1", "\"a]\\\"\"", "{\"b\":[2]}", "[]", "null"};
	static const char object[] = "{\"a\":1,\"b\\\"\":{\"c\":\"}\"}}";
	struct json_member item = {0};
	size_t i = 0;

	(void)state;
	for (; json_item(list, sizeof(list) - 1, &item); i++) {
		assert_int_equal(item.size, strlen(items[i]));
		assert_memory_equal(item.value, items[i], item.size);
	}
	assert_int_equal(i, sizeof(items) / sizeof(items[0]));
	item = (struct json_member){0};
	assert_true(json_next(object, sizeof(object) - 1, &item));
	assert_memory_equal(item.name, "\"a\"", item.name_size);
	assert_true(json_next(object, sizeof(object) - 1, &item));
	assert_memory_equal(item.name, "\"b\\\"\"", item.name_size);
	assert_memory_equal(item.value, "{\"c\":\"}\"}", item.size);
	assert_false(json_next(object, sizeof(object) - 1, &item));
	item = (struct json_member){0};
	assert_false(json_item("[]", 2, &item));
	assert_false(json_next("{}", 2, &item));
	assert_false(json_item("5", 1, &item));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_ascii_only),
		cmocka_unit_test(bytes_that_are_not_utf8_become_one_mark_each),
		cmocka_unit_test(leaves_the_buffer_alone_when_it_does_not_fit),
		cmocka_unit_test(a_template_quotes_and_escapes),
		cmocka_unit_test(a_template_tells_of_any_piece_that_did_not_fit),
		cmocka_unit_test(takes_what_rfc_8259_allows),
		cmocka_unit_test(refuses_a_number_that_is_too_long),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(depth_has_a_limit_and_costs_no_stack),
		cmocka_unit_test(finds_a_member_at_the_top),
		cmocka_unit_test(knows_a_name_behind_its_escapes),
		cmocka_unit_test(goes_from_member_to_member),
		cmocka_unit_test(long_strings_are_checked_to_the_byte),
		cmocka_unit_test(items_of_lists_and_objects_come_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
