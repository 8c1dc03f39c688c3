// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>

#include "api_fixture.h"

static const struct scan_member *member_is(struct scan *scan, const char *name, const char *want)
{
	const struct scan_member *member = scan_find(scan, name);
	struct run_bytes bytes = {0};
	struct err err = {0};

	assert_non_null(member);
	if (member->kind == SCAN_SMALL) {
		bytes.data = scan->small.data + member->at;
	} else {
		assert_ok(parts_bytes(&scan->parts, member->at, member->size, true, &bytes, &err),
			  err);
	}
	assert_int_equal(member->size, strlen(want));
	assert_memory_equal(bytes.data, want, strlen(want));
	return member;
}

static void takes_members_apart_however_they_are_cut(void **state)
{
	static const char body[] =
		" {\"text\" : \"a\\u00e9\" ,\"code\":\"x = '\\ud83d\\ude00\\n\\u0041\\\"'\","
		"\"data\": {\"rows\": [[1, 2.5e3], [null]]} ,\"limits\":{\"memory\": 5},"
		"\"fl\\u0061g\":true,\"timeout_ms\":30000,\"files\":[]} ";
	struct scan scan;

	(void)state;
	for (size_t piece = 0; piece < sizeof(body); piece++) {
		struct err err = {0};

		assert_ok(scan_all(&scan, body, sizeof(body) - 1, piece, &err), err);
		assert_int_equal(scan.count, 7);
		(void)member_is(&scan, "text", "\"a\\u00e9\"");
		(void)member_is(&scan, "code", "x = '\xf0\x9f\x98\x80\nA\"'");
		(void)member_is(&scan, "data", "{\"rows\": [[1, 2.5e3], [null]]}");
		(void)member_is(&scan, "limits", "{\"memory\": 5}");
		(void)member_is(&scan, "flag", "true");
		(void)member_is(&scan, "timeout_ms", "30000");
		(void)member_is(&scan, "files", "[]");
		assert_int_equal(scan.parts.fd, -1);
		scan_done(&scan);
	}
}

static void an_empty_body_has_no_members(void **state)
{
	struct scan scan;
	struct err err = {0};

	(void)state;
	assert_ok(scan_all(&scan, "", 0, 0, &err), err);
	assert_int_equal(scan.count, 0);
	scan_done(&scan);
	assert_ok(scan_all(&scan, " {} ", 4, 0, &err), err);
	assert_int_equal(scan.count, 0);
	scan_done(&scan);
}

static void null_is_not_given(void **state)
{
	static const char body[] = "{\"code\":null,\"data\":null,\"text\":null,\"limits\":null,"
				   "\"files\":null}";
	struct scan scan;
	struct err err = {0};

	(void)state;
	assert_ok(scan_all(&scan, body, strlen(body), 1, &err), err);
	assert_int_equal(scan.count, 5);
	assert_null(scan_find(&scan, "code"));
	assert_null(scan_find(&scan, "data"));
	assert_null(scan_find(&scan, "text"));
	scan_done(&scan);
}

/* 72 bytes: longer than what is kept of a name. */
#define HEX_DIGITS "0123456789abcdef"
#define LONG_NAME HEX_DIGITS HEX_DIGITS HEX_DIGITS HEX_DIGITS "89abcdef"

static const struct {
	const char *body, *says;
} refused[] = {
	{"[1]", "must be a JSON object"},
	{"5", "must be a JSON object"},
	{"\"x\"", "must be a JSON object"},
	{" ", "at byte 1; it ends too early"},
	{"{", "it ends too early"},
	{"{\"text\":\"a\"", "it ends too early"},
	{"{\"text\":\"a\"}}", "something follows"},
	{"{\"text\":\"a\",}", "a name in quotes is expected"},
	{"{text:1}", "at byte 1; a name in quotes"},
	{"{\"text\" 1}", "a colon is expected"},
	{"{\"text\":}", "a value is expected"},
	{"{\"files\":[{\"path\":\"a\",\"text\":\"\"},{\"path\":\"b\",\"txet\":\"\"}]}",
	 "files[1].txet: there is no such field"},
	{"{\"files\":[{\"path\":\"a\",\"text\":\"\",\"base64\":\"\"}]}",
	 "files[0].base64: give either this or text"},
	{"{\"files\":[ { \"path\" : \"a\" } ]}",
	 "files[0].text: is required, unless base64 is given"},
	{"{\"files\":[{\"text\":\"a\"}]}", "files[0].path: is required"},
	{"{\"files\":[{}]}", "files[0].path: is required"},
	{"{\"files\":[{\"path\":\"a\",\"p\\u0061th\":\"b\",\"text\":\"\"}]}",
	 "files[0].path: given twice"},
	{"{\"files\":[{\"path\":null,\"text\":\"\"}]}", "files[0].path: must be a string"},
	{"{\"files\":[{\"path\":[\"a\"],\"text\":\"\"}]}", "files[0].path: must be a string"},
	{"{\"files\":[{\"path\":\"a\",\"text\":{\"path\":\"a\"}}]}",
	 "files[0].text: must be a string"},
	{"{\"files\":[{\"path\":\"a\",\"text\":5}]}", "files[0].text: must be a string"},
	{"{\"files\":[{\"text\":\"..\",\"path\":\"..\"}]}", "files[0].path: must not contain .."},
	{"{\"files\":[{\"path\":\"a/.\\u002e/b\",\"text\":\"\"}]}",
	 "files[0].path: must not contain .."},
	{"{\"files\":[{\"path\":\"a\",\"base64\":\"%%%\"}]}", "files[0].base64: is not base64"},
	{"{\"files\":[{\"path\":\"a\",\"base64\":\"ab=\"}]}", "files[0].base64: is not base64"},
	{"{\"files\":[{\"path\":\"a\",\"base64\":\"a===\"}]}", "files[0].base64: is not base64"},
	{"{\"files\":[{\"path\":\"a\",\"base64\":\"ab==abcd\"}]}",
	 "files[0].base64: is not base64"},
	{"{\"files\":[\"a\"]}", "files[0]: must be an object"},
	{"{\"files\":[[\"a\"]]}", "files[0]: must be an object"},
	{"{\"files\":[null]}", "files[0]: must be an object"},
	{"{\"files\":[{\"path\\u0000\":\"a\"}]}", "files[0].path: there is no such field"},
	{"{\"data\":[1 2]}", "a comma or a closing bracket"},
	{"{\"data\":[1}", "a comma or a closing bracket"},
	{"{\"data\":tru}", "the only words are true, false and null"},
	{"{\"data\":01}", "a number is incomplete"},
	{"{\"data\":1.}", "a number is incomplete"},
	{"{\"data\":-}", "a number is incomplete"},
	{"{\"data\":1e}", "a number is incomplete"},
	{"{\"data\":NaN}", "a value is expected"},
	{"{\"data\":\"\\x\"}", "unknown escape"},
	{"{\"data\":\"\\u12g4\"}", "four hexadecimal digits"},
	{"{\"data\":\"a\nb\"}", "control character"},
	{"{\"data\":\"\xff\"}", "not UTF-8"},
	{"{\"data\":\"\xc0\x80\"}", "not UTF-8"},
	{"{\"data\":\"\xed\xa0\x80\"}", "not UTF-8"},
	{"{\"data\":\"\xf4\x90\x80\x80\"}", "not UTF-8"},
	{"{\"data\":\"\xe2\x82\"}", "not UTF-8"},
	{"{\"code\":\"\\ud83d\"}", "half a surrogate pair"},
	{"{\"code\":\"\\ud83d\\n\"}", "half a surrogate pair"},
	{"{\"code\":\"\\ud83d\\ud83d\"}", "half a surrogate pair"},
	{"{\"text\":\"\\ude00\"}", "half a surrogate pair"},
	{"{\"files\":[{\"path\":\"/etc/x\",\"text\":\"\"}]}",
	 "files[0].path: must be relative, or below /workspace"},
	{"{\"files\":[{\"path\":\"/workspaces/x\",\"text\":\"\"}]}",
	 "files[0].path: must be relative, or below /workspace"},
	{"{\"files\":[{\"path\":\"/workspace\",\"text\":\"\"}]}",
	 "files[0].path: names a folder, not a file"},
	{"{\"files\":[{\"path\":\"a/\",\"text\":\"\"}]}",
	 "files[0].path: names a folder, not a file"},
	{"{\"files\":[{\"path\":\"./.\",\"text\":\"\"}]}",
	 "files[0].path: names a folder, not a file"},
	{"{\"files\":[{\"path\":\"\",\"text\":\"\"}]}", "files[0].path: is empty"},
	{"{\"files\":[{\"path\":\"a/b\",\"text\":\"\"},{\"text\":\"\",\"path\":\"a/b\"}]}",
	 "files[1].path: an earlier file has the same path"},
	{"{\"files\":[{\"path\":\"a/b\",\"text\":\"\"},{\"path\":\"c\",\"text\":\"\"},"
	 "{\"path\":\"//./workspace/./a//\\u0062\",\"text\":\"\"}]}",
	 "files[2].path: an earlier file has the same path"},
	{"{\"files\":[{\"path\":\"a\",\"text\":\"\"},{\"path\":\"./a/b/c\",\"text\":\"\"}]}",
	 "files[1].path: 'a' is a file, not a folder"},
	{"{\"files\":[{\"path\":\"a/b/c\",\"text\":\"\"},{\"path\":\"a/b\",\"text\":\"\"}]}",
	 "files[1].path: is a folder, because an earlier file is below it"},
	{"{\"files\":[{\"path\":\"a\\u0000\",\"text\":\"\"}]}",
	 "files[0].path: must not contain NUL"},
	{"{\"table\":5}", "table: must be an object with columns and rows, or a list of objects"},
	{"{\"table\":\"a\"}", "table: must be an object with columns and rows"},
	{"{\"table\":{}}", "table.columns: is required"},
	{"{\"table\":{\"columns\":[]}}", "table.rows: is required"},
	{"{\"table\":{\"columns\":5,\"rows\":[]}}", "table.columns: must be a list"},
	{"{\"table\":{\"rows\":{},\"columns\":[]}}", "table.rows: must be a list"},
	{"{\"table\":{\"columns\":[],\"columns\":[]}}", "table.columns: given twice"},
	{"{\"table\":{\"columns\":[\"a\"],\"rows\":[[1],5]}}", "table.rows[1]: must be a list"},
	{"{\"table\":{\"columns\":[\"a\"],\"rows\":[[1],[1,[2,3]]]}}",
	 "table.rows[1]: has 2 values, but the number of columns is 1"},
	{"{\"table\":{\"columns\":[\"a\",\"b\"],\"rows\":[[1,\"x\"],[]]}}",
	 "table.rows[1]: has 0 values, but the number of columns is 2"},
	{"{\"table\":{\"rows\":[[1],[1,2]],\"columns\":[\"a\"]}}",
	 "table.rows[1]: has 2 values, but rows[0] has 1"},
	{"{\"table\":{\"r\\u006fws\":[[1],[2]],\"columns\":[\"a\",\"b\"]}}",
	 "table.columns: there are 2, but rows[0] has 1 values"},
	{"{\"table\":{\"columnsss\":[],\"rows\":[]}}",
	 "table.columnsss: there is no such field; did you mean table.columns?"},
	{"{\"table\":{\"columns\":[\"a\"],\"rwos\":[[1]]}}",
	 "table.rwos: there is no such field; did you mean table.rows?"},
	{"{\"table\":{\"columns\":[\"a\"],\"index\":[5],\"rows\":[[1]]}}",
	 "table.index: there is no such field; a table has columns and rows"},
	{"{\"table\":{\"columns\":[],\"rows\\u0000\":[]}}", "there is no such field"},
	{"{\"table\":{\"columns\":[\"a\",1],\"rows\":[]}}", "table.columns[1]: must be a string"},
	{"{\"table\":{\"columns\":[{\"b\":[1,2]}],\"rows\":[]}}",
	 "table.columns[0]: must be a string"},
	{"{\"table\":[{},5]}", "table[1]: must be an object"},
	{"{\"table\":[[1]]}", "table[0]: must be an object"},
	{"{\"table\":[{\"a\":[1,2]},{},null]}", "table[2]: must be an object"},
	{"{\"table\":[{\"a\":1},{\"a\":1,\"\\u0061\":2}]}",
	 "table[1]: 'a' is given twice in one object"},
	{"{\"table\":{\"columns\":[\"a\"],\"rows\":[[1],[{\"b\":1,\"b\":1}]]}}",
	 "table.rows[1]: 'b' is given twice in one object"},
	{"{\"data\":{\"a\":1,\"b\":{\"a\":[{\"c\":{}}]},\"a\":2}}",
	 "data: 'a' is given twice in one object"},
	{"{\"data\":[{\"\":1,\"\":2}]}", "data: '' is given twice in one object"},
	{"{\"data\":{\"" LONG_NAME "x\":1,\"" LONG_NAME "x\":1}}",
	 "data: '...89abcdefx' is given twice in one object"},
	{"{\"code\":5}", "code: must be a string"},
	{"{\"code\":5", "not JSON, at byte 9; it ends too early"},
	{"{\"zzzzzzzz\":1, \"code\": \"a", "not JSON, at byte 25; it ends too early"},
	{"{\"code\":5, \"text\":}", "not JSON, at byte 18; a value is expected"},
	{"{\"files\":{\"a\":1}, 5}", "not JSON, at byte 18; a name in quotes is expected"},
	{"[{\"a\":1}", "not JSON, at byte 8; it ends too early"},
	{"{\"zzzzzzzz\":1,\"code\":5}", "zzzzzzzz: there is no such field"},
	{"{\"code\":[\"a\"]}", "code: must be a string"},
	{"{\"files\":{}}", "files: must be a list"},
	{"{\"text\":1,\"text\":2}", "text: given twice"},
	{"{\"limits\":{},\"limits\":{}}", "limits: given twice"},
	{"{\"tiemout_ms\":1}", "tiemout_ms: there is no such field; did you mean timeout_ms?"},
	{"{\"memory\":1}", "did you mean limits.memory?"},
	{"{\"limits.memory\":1}", "limits.memory: there is no such field"},
	{"{\"id\":1}", "id: there is no such field"},
	{"{\"zzzzzzzz\":1}", "zzzzzzzz: there is no such field"},
	{"{\"\":1}", "there is no such field"},
	{"{\"text\\u0000\":1}", "there is no such field"},
};

/* Each is refused, in one piece and byte by byte, with the same words. */
static void refuses_what_is_wrong_and_says_what(void **state)
{
	struct scan scan;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct err one = {0}, two = {0};
		size_t size = strlen(refused[i].body);

		assert_true(scan_all(&scan, refused[i].body, size, 0, &one) < 0);
		scan_done(&scan);
		assert_true(scan_all(&scan, refused[i].body, size, 1, &two) < 0);
		scan_done(&scan);
		assert_int_equal(one.kind, ERR_BAD_REQUEST);
		assert_contains(one.text, refused[i].says);
		assert_string_equal(one.text, two.text);
	}
}

static const char *const good_tables[] = {
	"{\"files\":[{\"path\":\"a/b\",\"text\":\"\"},{\"path\":\"a/c\",\"text\":\"\"},"
	"{\"path\":\"b\",\"text\":\"\"},{\"path\":\"a/d/b\",\"text\":\"\"}]}",
	"{\"table\":null}",
	"{\"table\":[]}",
	"{\"table\":[{\"a\":1,\"rows\":5},{}]}",
	"{\"table\":{\"columns\":[],\"rows\":[]}}",
	"{\"table\":{\"columns\":[],\"rows\":[[],[]]}}",
	"{\"table\":{\"columns\":[\"a\"],\"rows\":[]}}",
	"{\"table\":{\"rows\":[],\"columns\":[\"a\"]}}",
	"{\"table\": {\"columns\" : [\"1\", \"b\\\"]\", \"\"], \"rows\": "
	"[[1,2e3,-1], "
	"[{\"a\":[]},[[1,2],3],\"]\\u005d\"] ] }, \"text\":\"a\"}",
	"{\"table\":{\"rows\":[[1,true],[false,null]],\"columns\":[\"a\",\"b\"]}}",
	"{\"table\":[{\"a\":{\"a\":1},\"b\":{\"a\":1}},{\"a\":1}]}",
	"{\"data\":{\"" LONG_NAME "x\":1,\"" LONG_NAME "y\":1,\"x\":{\"x\":1},\"y\":{\"x\":1}}}",
};

/* ... in one piece, and byte by byte. */
static void takes_tables_of_both_kinds(void **state)
{
	struct scan scan;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good_tables); i++) {
		struct err err = {0};
		size_t size = strlen(good_tables[i]);

		assert_ok(scan_all(&scan, good_tables[i], size, 0, &err), err);
		scan_done(&scan);
		assert_ok(scan_all(&scan, good_tables[i], size, 1, &err), err);
		scan_done(&scan);
	}
}

/* {"data":[{"n0":0, ... , LAST:0},{},{"n0":0}]} with `count` names before the last. */
static int scan_many_names(unsigned int count, const char *last, struct err *err)
{
	struct scan scan;
	struct buf body;
	int r;

	buf_init(&body, 32U << 20);
	assert_int_equal(buf_text(&body, "{\"data\":[{"), 0);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(buf_format(&body, "\"n%u\":0,", i), 0);
	assert_int_equal(buf_format(&body, "\"%s\":0},{},{\"n0\":0}]}", last), 0);
	r = scan_all(&scan, body.data, body.size, 1000, err);
	scan_done(&scan);
	buf_done(&body);
	return r;
}

static void tells_a_million_names_of_one_object_apart(void **state)
{
	struct err err = {0};

	(void)state;
	assert_ok(scan_many_names(SCAN_SEEN_MAX - 1, "last", &err), err);
	assert_true(scan_many_names(99999, "n77", &err) < 0);
	assert_contains(err.text, "data: 'n77' is given twice in one object");
	assert_true(scan_many_names(SCAN_SEEN_MAX, "last", &err) < 0);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	assert_contains(err.text, "data: an object has more than 1048576 names");
}

/* A body with `count` files "f0", "f1", ..., and one more with this path. */
static int scan_many_files(unsigned int count, const char *last, struct err *err)
{
	struct scan scan;
	struct buf body;
	int r;

	buf_init(&body, 8U << 20);
	assert_int_equal(buf_text(&body, "{\"files\":["), 0);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(buf_format(&body, "{\"path\":\"f%u\",\"text\":\"\"},", i), 0);
	assert_int_equal(buf_format(&body, "{\"path\":\"%s\",\"text\":\"\"}]}", last), 0);
	scan_init(&scan, &every_op, 8U << 20);
	r = scan_feed(&scan, body.data, body.size, err);
	if (r == 0)
		r = scan_finish(&scan, err);
	scan_done(&scan);
	buf_done(&body);
	return r;
}

static void each_of_many_files_has_its_own_path(void **state)
{
	struct err err = {0};

	(void)state;
	assert_ok(scan_many_files(10000, "g", &err), err);
	assert_int_equal(scan_many_files(10000, "./f0", &err), -EINVAL);
	assert_string_equal(err.text, "files[10000].path: an earlier file has the same path");
	assert_ok(scan_many_files(SCAN_FILES_MAX - 1, "g", &err), err);
	assert_int_equal(scan_many_files(SCAN_FILES_MAX, "g", &err), -E2BIG);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
}

static void raw_json_may_have_what_python_writes(void **state)
{
	static const char body[] = "{\"data\":[\"\\ud83d\",\"\\ude00\\ud83d\",\"\\u0000\"]}";
	struct scan scan;
	struct err err = {0};

	(void)state;
	assert_ok(scan_all(&scan, body, strlen(body), 3, &err), err);
	(void)member_is(&scan, "data", "[\"\\ud83d\",\"\\ude00\\ud83d\",\"\\u0000\"]");
	scan_done(&scan);
}

/* "{"data":[[...]]}" with so many lists. */
static int scan_deep(size_t depth, struct err *err)
{
	struct scan scan;
	struct buf body;
	int r;

	buf_init(&body, 4096);
	assert_int_equal(buf_text(&body, "{\"data\":"), 0);
	for (size_t i = 0; i < depth; i++)
		assert_int_equal(buf_text(&body, "["), 0);
	for (size_t i = 0; i < depth; i++)
		assert_int_equal(buf_text(&body, "]"), 0);
	assert_int_equal(buf_text(&body, "}"), 0);
	r = scan_all(&scan, body.data, body.size, 5, err);
	scan_done(&scan);
	buf_done(&body);
	return r;
}

static void depth_has_a_limit(void **state)
{
	struct err err = {0};

	(void)state;
	assert_ok(scan_deep(WALK_DEPTH_MAX - 1, &err), err);
	assert_int_equal(scan_deep(WALK_DEPTH_MAX, &err), -EINVAL);
	assert_contains(err.text, "the body has lists and objects nested more than 64 deep");
}

static void feed_text(struct scan *scan, const char *text)
{
	struct err err = {0};

	assert_ok(scan_feed(scan, text, strlen(text), &err), err);
}

/* Feeds `size` bytes of `c`; the result of the piece that failed, else 0. */
static int feed_many(struct scan *scan, char c, size_t size, struct err *err)
{
	char piece[4096];
	int r = 0;

	memset(piece, c, sizeof(piece));
	for (size_t n; r == 0 && size > 0; size -= n) {
		n = size < sizeof(piece) ? size : sizeof(piece);
		r = scan_feed(scan, piece, n, err);
	}
	return r;
}

static void large_members_go_to_a_memfd(void **state)
{
	struct run_bytes code = {0}, data = {0};
	const struct scan_member *member;
	struct scan scan;
	struct err err = {0};
	char first = 0;

	(void)state;
	scan_init(&scan, &every_op, BODY_MAX);
	feed_text(&scan, "{\"code\":\"");
	assert_ok(feed_many(&scan, 'c', 200000, &err), err);
	feed_text(&scan, "\\n\",\"data\":[\"");
	assert_ok(feed_many(&scan, 'd', 300000, &err), err);
	feed_text(&scan, "\"],\"text\":\"t\"}");
	assert_ok(scan_finish(&scan, &err), err);

	assert_true(scan.parts.fd >= 0);
	assert_true(scan.parts.memory.capacity <= 2 * PARTS_MEMORY_MAX);
	member = scan_find(&scan, "code");
	assert_int_equal(member->size, 200001);
	assert_ok(parts_bytes(&scan.parts, member->at, member->size, true, &code, &err), err);
	assert_int_equal(((const char *)code.data)[0], 'c');
	assert_int_equal(((const char *)code.data)[200000], '\n');

	member = scan_find(&scan, "data");
	assert_ok(parts_bytes(&scan.parts, member->at, member->size, false, &data, &err), err);
	assert_null(data.data);
	assert_int_equal(data.at, 200001);
	assert_int_equal(data.size, 300004);
	assert_int_equal(pread(data.fd, &first, 1, (off_t)data.at), 1);
	assert_int_equal(first, '[');
	/* It can be sealed, mapped as it is, and handed on. */
	assert_int_equal(fcntl(data.fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW),
			 0);
	(void)member_is(&scan, "text", "\"t\"");
	scan_done(&scan);
}

static void code_has_a_limit(void **state)
{
	struct scan scan;
	struct err err = {0};

	(void)state;
	scan_init(&scan, &every_op, BODY_MAX);
	feed_text(&scan, "{\"code\":\"");
	assert_ok(feed_many(&scan, 'c', SCAN_TEXT_MAX, &err), err);
	assert_int_equal(scan_feed(&scan, "c", 1, &err), -EMSGSIZE);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	assert_contains(err.text, "code: longer than 16MiB");
	scan_done(&scan);
}

static void small_members_have_a_limit_together(void **state)
{
	struct scan scan;
	struct err err = {0};

	(void)state;
	scan_init(&scan, &every_op, BODY_MAX);
	feed_text(&scan, "{\"text\":\"x\",\"env\":{\"A\":\"");
	assert_int_equal(feed_many(&scan, 'e', SCAN_SMALL_MAX, &err), -EMSGSIZE);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	assert_contains(err.text, "env: ");
	assert_contains(err.text, "1MiB");
	scan_done(&scan);
}

/* However short their texts are: each is some hundred bytes of a tree. */
static void small_members_have_few_values(void **state)
{
	static const char *const values[] = {"\"\"", "0", "[]", "null", "{}"};
	struct scan scan;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		struct err err = {0};
		int r = 0;

		scan_init(&scan, &every_op, BODY_MAX);
		feed_text(&scan, "{\"data\":[1");
		for (size_t n = 0; n < 2UL * WALK_TREE_MAX && r == 0; n++)
			r = scan_feed(&scan, ",1", 2, &err); /* never a tree */
		assert_ok(r, err);
		feed_text(&scan, "],\"env\":[");
		for (size_t n = 1; n < WALK_TREE_MAX && r == 0; n++) {
			r = scan_feed(&scan, values[i], strlen(values[i]), &err);
			if (r == 0)
				r = scan_feed(&scan, ",", 1, &err);
		}
		assert_ok(r, err);
		r = scan_feed(&scan, values[i], strlen(values[i]), &err);
		assert_int_equal(r, -E2BIG);
		assert_int_equal(err.kind, ERR_TOO_LARGE);
		assert_contains(err.text, "env: ");
		scan_done(&scan);
	}
}

static void a_tree_is_counted_before_it_is_made(void **state)
{
	(void)state;
	assert_true(walk_is_tree("[1,2,[]]", 8, 4));
	assert_false(walk_is_tree("[1,2,[]]", 8, 3));
	assert_true(walk_is_tree("{\"a\":\"b\"}", 9, 3));
	assert_false(walk_is_tree("{\"a\":\"b\"}", 9, 2));
	assert_true(walk_is_tree("no JSON", 7, 1));
	assert_true(walk_is_tree("", 0, 0));
}

static void the_body_has_a_limit(void **state)
{
	static const char body[] = "{\"text\":\"0123456789\"}";
	struct scan scan;
	struct err err = {0};

	(void)state;
	scan_init(&scan, &every_op, sizeof(body) - 1);
	assert_ok(scan_feed(&scan, body, sizeof(body) - 1, &err), err);
	assert_ok(scan_finish(&scan, &err), err);
	scan_done(&scan);

	scan_init(&scan, &every_op, sizeof(body) - 2);
	assert_int_equal(scan_feed(&scan, body, sizeof(body) - 1, &err), -EMSGSIZE);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	assert_contains(err.text, "the body is larger than 20");
	scan_done(&scan);
}

static int scan_leniently(struct scan *scan, const char *body, size_t piece, struct err *err)
{
	size_t size = strlen(body);
	int r = 0;

	scan_init(scan, &every_op, BODY_MAX);
	scan->is_lenient = true;
	for (size_t at = 0; r == 0 && at < size; at += piece)
		r = scan_feed(scan, body + at, size - at < piece ? size - at : piece, err);
	return r == 0 ? scan_finish(scan, err) : r;
}

static void a_lenient_scan_reads_over_what_it_does_not_know(void **state)
{
	static const char body[] =
		"{\"other\":{\"code\":[\"\\ud800\",{}]},\"text\":\"a\",\"code\":\"x\","
		"\"more\":1e5,\"text\":[1],\"code\":\"y\",\"data\":{\"a\":1}}";
	struct scan scan;

	(void)state;
	for (size_t piece = 1; piece < sizeof(body); piece++) {
		struct err err = {0};

		assert_ok(scan_leniently(&scan, body, piece, &err), err);
		assert_int_equal(scan.count, 3);
		(void)member_is(&scan, "text", "[1]");
		(void)member_is(&scan, "code", "y");
		(void)member_is(&scan, "data", "{\"a\":1}");
		scan_done(&scan);
	}
}

static void a_lenient_scan_keeps_no_text_that_is_none(void **state)
{
	static const char *const wrong[] = {"{\"code\":5}", "{\"code\":[\"a\",\"b\"]}",
					    "{\"code\":{\"code\":\"x\"}}", "{\"code\":true}",
					    "{\"code\":\"x\",\"code\":7}"};
	struct scan scan;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct err err = {0};
		const struct scan_member *member;

		assert_ok(scan_leniently(&scan, wrong[i], 3, &err), err);
		member = scan_find(&scan, "code");
		assert_non_null(member);
		assert_true(member->is_wrong);
		assert_int_equal(member->size, 0);
		scan_done(&scan);
	}
}

static void a_lenient_scan_takes_any_value_and_nothing_else(void **state)
{
	static const char *const others[] = {"[]",  "[{\"code\":\"x\"}]", "5", "\"code\"", "null",
					     " {} "};
	static const char *const bad[] = {"{", "[1", "{\"code\":\"x\"} {}", "{\"code\":NaN}", "x"};
	struct scan scan;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct err err = {0};

		assert_ok(scan_leniently(&scan, others[i], 1, &err), err);
		assert_int_equal(scan.count, 0);
		scan_done(&scan);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = {0};

		assert_int_equal(scan_leniently(&scan, bad[i], 1, &err), -EINVAL);
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
		scan_done(&scan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_members_apart_however_they_are_cut),
		cmocka_unit_test(an_empty_body_has_no_members),
		cmocka_unit_test(null_is_not_given),
		cmocka_unit_test(refuses_what_is_wrong_and_says_what),
		cmocka_unit_test(takes_tables_of_both_kinds),
		cmocka_unit_test(tells_a_million_names_of_one_object_apart),
		cmocka_unit_test(each_of_many_files_has_its_own_path),
		cmocka_unit_test(raw_json_may_have_what_python_writes),
		cmocka_unit_test(depth_has_a_limit),
		cmocka_unit_test(large_members_go_to_a_memfd),
		cmocka_unit_test(code_has_a_limit),
		cmocka_unit_test(small_members_have_a_limit_together),
		cmocka_unit_test(small_members_have_few_values),
		cmocka_unit_test(a_tree_is_counted_before_it_is_made),
		cmocka_unit_test(the_body_has_a_limit),
		cmocka_unit_test(a_lenient_scan_reads_over_what_it_does_not_know),
		cmocka_unit_test(a_lenient_scan_keeps_no_text_that_is_none),
		cmocka_unit_test(a_lenient_scan_takes_any_value_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
