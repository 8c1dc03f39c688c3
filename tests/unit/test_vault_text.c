// SPDX-License-Identifier: Apache-2.0
/* Texts of the vault: what changes, and that the rest does not. */
#include <errno.h>

#include "base/c.h"
#include "document/vault_text.h"
#include "unit.h"

static void assert_indented(const char *json, const char *wanted)
{
	struct buf buf;

	buf_init(&buf, 4096);
	assert_int_equal(vault_indent(json, strlen(json), &buf), 0);
	assert_string_equal(buf_string(&buf), wanted);
	buf_done(&buf);
}

static void indents_like_everybody(void **state)
{
	(void)state;
	assert_indented(
		"{\"a\":1,\"b\":[ ],\"c\":{ },\"d\":[1,{\"e\":null}]}",
		"{\n  \"a\": 1,\n  \"b\": [],\n  \"c\": {},\n  \"d\": [\n    1,\n    {\n      "
		"\"e\": null\n    }\n  ]\n}");
	assert_indented(" [ 1 , 2 ]\n", "[\n  1,\n  2\n]");
	assert_indented("\"x\"", "\"x\"");
	assert_indented("{}", "{}");
}

static void numbers_and_strings_stay_as_they_are(void **state)
{
	(void)state;
	assert_indented("[1e400,12345678901234567890123,0.10,\"a,{\\\"}\\u00e4\xc3\xa4\"]",
			"[\n  1e400,\n  12345678901234567890123,\n  0.10,\n  "
			"\"a,{\\\"}\\u00e4\xc3\xa4\"\n]");
}

static void leaves_alone_what_is_not_json_or_grows_too_much(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 16);
	assert_int_equal(vault_indent("{a:1}", 5, &buf), -EINVAL);
	assert_int_equal(vault_indent("", 0, &buf), -EINVAL);
	assert_int_equal(vault_indent("[[[[[[1]]]]]]", 13, &buf), -EMSGSIZE);
	assert_int_equal(buf.size, 0);
	buf_done(&buf);
}

static int merge(const char *into, const char *patch, const char *wanted)
{
	struct err err = {0};
	struct buf buf;
	int r;

	buf_init(&buf, 4096);
	r = vault_merge(into, strlen(into), patch, strlen(patch), &buf, &err);
	if (wanted != NULL) {
		assert_ok(r, err);
		assert_string_equal(buf_string(&buf), wanted);
	} else {
		assert_true(r < 0);
		assert_int_equal(buf.size, 0);
	}
	buf_done(&buf);
	return r;
}

static void merges_objects_deep_and_lists_behind_each_other(void **state)
{
	(void)state;
	(void)merge(
		"{\"a\":{\"x\":1,\"y\":2},\"b\":[1],\"c\":0.1}",
		"{\"a\":{\"y\":3,\"z\":{}},\"b\":[2],\"d\":null}",
		"{\n  \"a\": {\n    \"x\": 1,\n    \"y\": 3,\n    \"z\": {}\n  },\n  \"b\": [\n    "
		"2\n  ],\n  \"c\": 0.1,\n  \"d\": null\n}");
	(void)merge("[1,2]", "[3]", "[\n  1,\n  2,\n  3\n]");
	(void)merge("{\"a\":[1]}", "{\"a\":\"\\u0000\\n\\\"\xc3\xa4\"}",
		    "{\n  \"a\": \"\\u0000\\u000a\\\"\xc3\xa4\"\n}");
	(void)merge("{\"a\":1.0}", "{\"b\":1e300,\"c\":-0.3,\"d\":true,\"e\":false}",
		    "{\n  \"a\": 1.0,\n  \"b\": 1e+300,\n  \"c\": -0.3,\n  \"d\": true,\n  \"e\": "
		    "false\n}");
}

static void refuses_what_cannot_be_merged(void **state)
{
	char *large = calloc(1, VAULT_MERGE_MAX + 2);

	(void)state;
	assert_non_null(large);
	assert_int_equal(merge("{}", "[]", NULL), -EINVAL);
	assert_int_equal(merge("[]", "{}", NULL), -EINVAL);
	assert_int_equal(merge("1", "2", NULL), -EINVAL);
	assert_int_equal(merge("not json", "{}", NULL), -EINVAL);
	assert_int_equal(merge("{}", "{", NULL), -EINVAL);
	/* A number that would come back as another is refused, not changed. */
	assert_int_equal(merge("{\"a\":123456789012345678901234}", "{}", NULL), -EINVAL);
	memset(large, ' ', VAULT_MERGE_MAX + 1);
	large[0] = '{';
	large[VAULT_MERGE_MAX] = '}';
	assert_int_equal(merge(large, "{}", NULL), -EFBIG);
	assert_int_equal(merge("{}", large, NULL), -EFBIG);
	free(large);
}

static void assert_replaced(const char *text, const char *find, const char *by, const char *wanted)
{
	struct err err = {0};
	struct buf buf;

	buf_init(&buf, 64);
	assert_ok(vault_replace(text, strlen(text), find, strlen(find), by, strlen(by), &buf, &err),
		  err);
	assert_string_equal(buf_string(&buf), wanted);
	buf_done(&buf);
}

static void replaces_the_first_and_only_the_first(void **state)
{
	struct err err = {0};
	struct buf buf;

	(void)state;
	assert_replaced("a b a", "a", "cc", "cc b a");
	assert_replaced("a b a", "b a", "", "a ");
	assert_replaced("abc", "", "x", "xabc");
	assert_replaced("", "", "x", "x");
	buf_init(&buf, 8);
	assert_int_equal(vault_replace("abc", 3, "d", 1, "x", 1, &buf, &err), -ENOENT);
	assert_int_equal(vault_replace(NULL, 0, "d", 1, "x", 1, &buf, &err), -ENOENT);
	assert_int_equal(vault_replace("abc", 3, "a", 1, "123456789", 9, &buf, &err), -EFBIG);
	buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(indents_like_everybody),
		cmocka_unit_test(numbers_and_strings_stay_as_they_are),
		cmocka_unit_test(leaves_alone_what_is_not_json_or_grows_too_much),
		cmocka_unit_test(merges_objects_deep_and_lists_behind_each_other),
		cmocka_unit_test(refuses_what_cannot_be_merged),
		cmocka_unit_test(replaces_the_first_and_only_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
