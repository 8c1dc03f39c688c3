// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "api_fixture.h"

/* A decoding from a body and a query; what it points to lives until world_done. */
struct world {
	struct scan scan;
	struct decoded decoded;
	const struct every_args *args;
	struct err err;
};

static int world_decode(struct world *world, const char *body, const struct decode_pair *query,
			size_t query_count)
{
	static const struct decode_pair path[] = {{"id", "ses_1"}, {"path", "a/b"}};
	const struct decode_source source = {
		.path = path,
		.path_count = 2,
		.query = query,
		.query_count = query_count,
		.scan = &world->scan,
	};
	int r;

	*world = (struct world){0};
	r = scan_all(&world->scan, body, strlen(body), 0, &world->err);
	if (r == 0)
		r = decode_args(&every_op, &source, &world->decoded, &world->err);
	world->args = world->decoded.args;
	return r;
}

static void world_done(struct world *world)
{
	decoded_done(&world->decoded);
	scan_done(&world->scan);
}

static void a_number_that_is_not_given_is_what_its_row_says(void **state)
{
	struct world world;

	(void)state;
	assert_ok(world_decode(&world, "{}", NULL, 0), world.err);
	assert_int_equal(world.args->wait_ms, 250);
	assert_int_equal(world.args->ms, 0);
	world_done(&world);
	assert_ok(world_decode(&world, "{\"wait_ms\":null}", NULL, 0), world.err);
	assert_int_equal(world.args->wait_ms, 250);
	world_done(&world);
	assert_ok(world_decode(&world, "{\"wait_ms\":0}", NULL, 0), world.err);
	assert_int_equal(world.args->wait_ms, 0);
	world_done(&world);
}

static void fills_every_type(void **state)
{
	static const char body[] =
		"{\"code\":\"print(1)\",\"data\":[1],\"files\":[{\"path\":\"a\",\"text\":\"b\"}],"
		"\"text\":\"\\u00e9\",\"word\":\"second\",\"timeout_ms\":1500,"
		"\"limits\":{\"memory\":\"512MiB\",\"pids\":4,\"cpus\":1.5},\"flag\":false,"
		"\"expect_files\":[\"a\",\"b\"],\"env\":{\"K\":\"V=1\",\"L\":\"\"}}";
	static const struct decode_pair query[] = {
		{"offset", "10"}, {"recursive", ""}, {"tag", "x"}, {"tag", "y"}, {"size", "1KiB"}};
	struct world world;

	(void)state;
	assert_ok(world_decode(&world, body, query, ARRAY_LEN(query)), world.err);
	assert_string_equal(world.args->id, "ses_1");
	assert_string_equal(world.args->path, "a/b");
	assert_int_equal(world.args->code.size, 8);
	assert_memory_equal(world.args->code.data, "print(1)", 8);
	assert_memory_equal(world.args->data.data, "[1]", world.args->data.size);
	assert_int_equal(world.args->files.size, 25);
	assert_string_equal(world.args->text, "\xc3\xa9");
	assert_string_equal(world.args->word, "second");
	assert_int_equal(world.args->ms, 1500);
	assert_int_equal(world.args->memory, 512 * MIB);
	assert_int_equal(world.args->pids, 4);
	assert_int_equal(world.args->cpus, 1500);
	assert_int_equal(world.args->flag, OP_NO);
	assert_string_equal(world.args->texts[1], "b");
	assert_null(world.args->texts[2]);
	assert_string_equal(world.args->pairs[0], "K=V=1");
	assert_string_equal(world.args->pairs[1], "L=");
	assert_null(world.args->pairs[2]);
	assert_int_equal(world.args->offset, 10);
	assert_int_equal(world.args->recursive, OP_YES);
	assert_string_equal(world.args->tags[0], "x");
	assert_string_equal(world.args->tags[1], "y");
	assert_null(world.args->tags[2]);
	assert_int_equal(world.args->size, 1024);
	world_done(&world);
}

static void what_is_not_given_is_unset(void **state)
{
	struct world world;

	(void)state;
	assert_ok(world_decode(&world, "{\"text\":null,\"limits\":{\"pids\":null}}", NULL, 0),
		  world.err);
	assert_null(world.args->text);
	assert_null(world.args->code.data);
	assert_int_equal(world.args->code.size, 0);
	assert_int_equal(world.args->ms, 0);
	assert_int_equal(world.args->pids, 0);
	assert_int_equal(world.args->flag, OP_UNSET);
	assert_null(world.args->pairs);
	world_done(&world);

	/* An empty text is given, and so is an empty list. */
	assert_ok(world_decode(&world, "{\"code\":\"\",\"expect_files\":[]}", NULL, 0), world.err);
	assert_non_null(world.args->code.data);
	assert_int_equal(world.args->code.size, 0);
	assert_null(world.args->texts[0]);
	world_done(&world);
}

static void null_is_an_answer_where_the_row_says_so(void **state)
{
	struct world world;

	(void)state;
	assert_ok(world_decode(&world, "{\"owner\":null,\"text\":null}", NULL, 0), world.err);
	assert_string_equal(world.args->owner, "");
	assert_null(world.args->text);
	world_done(&world);
	assert_ok(world_decode(&world, "{}", NULL, 0), world.err);
	assert_null(world.args->owner);
	world_done(&world);
}

static void numbers_are_numbers_of_json(void **state)
{
	struct world world;

	(void)state;
	assert_ok(world_decode(&world,
			       "{\"timeout_ms\":3e4,\"limits\":{\"memory\":1048576,\"cpus\":2}}",
			       NULL, 0),
		  world.err);
	assert_int_equal(world.args->ms, 30000);
	assert_int_equal(world.args->memory, 1 * MIB);
	assert_int_equal(world.args->cpus, 2000);
	world_done(&world);
}

static void each_row_refuses_by_name(void **state)
{
	static const struct {
		const char *body, *says;
	} rows[] = {
		{"{\"text\":5}", "text: must be a string"},
		{"{\"text\":\"a\\u0000b\"}", "text: must not contain NUL"},
		{"{\"word\":\"third\"}", "word: 'third' is not one of first|second"},
		{"{\"word\":\"firs\"}", "word: 'firs' is not one of"},
		{"{\"timeout_ms\":\"30s\"}", "timeout_ms: must be a whole number of milliseconds"},
		{"{\"timeout_ms\":true}", "timeout_ms: must be a whole number"},
		{"{\"timeout_ms\":10.5}", "timeout_ms: must be a whole number"},
		{"{\"timeout_ms\":9}", "timeout_ms: must be from 10 to 3600000 milliseconds"},
		{"{\"timeout_ms\":3600001}", "timeout_ms: must be from 10 to 3600000"},
		{"{\"timeout_ms\":-1}", "timeout_ms: must be from 10 to 3600000"},
		{"{\"timeout_ms\":1e300}", "timeout_ms: must be from 10 to 3600000 milliseconds"},
		{"{\"timeout_ms\":1e999}", "timeout_ms: cannot be read; real number overflow"},
		{"{\"timeout_ms\":99999999999999999999}", "timeout_ms: must be from 10 to 3600000"},
		{"{\"wait_ms\":99999999999999999999}", "wait_ms: is too large"},
		{"{\"limits\":{\"memory\":99999999999999999999}}",
		 "limits.memory: must be from 1MiB to 1GiB"},
		{"{\"limits\":{\"memory\":\"1TiB\"}}", "limits.memory: must be a number of bytes, "
						       "or a string of a whole number and KiB, MiB "
						       "or GiB, as in \"512MiB\""},
		{"{\"limits\":{\"pids\":\"2\"}}",
		 "limits.pids: must be a whole number from 1 to 64"},
		{"{\"limits\":{\"memory\":\"512Mib\"}}",
		 "limits.memory: must be a number of bytes"},
		{"{\"limits\":{\"memory\":\"5\\u0000\"}}", "limits.memory: must be"},
		{"{\"limits\":{\"memory\":\"2GiB\"}}", "limits.memory: must be from 1MiB to 1GiB"},
		{"{\"limits\":{\"cpus\":0.001}}", "limits.cpus: must be from 0.01 to 4"},
		{"{\"limits\":{\"cpus\":\"1\"}}", "limits.cpus: must be a number"},
		{"{\"limits\":{\"pids\":65}}", "limits.pids: must be from 1 to 64"},
		{"{\"limits\":{\"memroy\":1}}",
		 "limits.memroy: there is no such field; did you mean limits.memory?"},
		{"{\"limits\":{\"pids\":1,\"pids\":2}}",
		 "limits: 'pids' is given twice in one object"},
		{"{\"env\":{\"A\":\"1\",\"A\":\"2\"}}", "env: 'A' is given twice in one object"},
		{"{\"limits\":5}", "limits: must be an object"},
		{"{\"flag\":1}", "flag: must be true or false"},
		{"{\"expect_files\":\"a\"}", "expect_files: must be a list of strings"},
		{"{\"expect_files\":[1]}", "expect_files: must be a list of strings"},
		{"{\"env\":[]}", "env: must be an object"},
		{"{\"env\":{\"A\":1}}", "env: must be an object whose values are strings"},
		{"{\"env\":{\"A=B\":\"1\"}}", "env: 'A=B' is not a valid name"},
		{"{\"env\":{\"\":\"1\"}}", "env: '' is not a valid name"},
	};
	struct world world;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(world_decode(&world, rows[i].body, NULL, 0), -EINVAL);
		assert_int_equal(world.err.kind, ERR_BAD_REQUEST);
		assert_contains(world.err.text, rows[i].says);
		assert_ptr_equal(strstr(world.err.text, rows[i].says), world.err.text);
		world_done(&world);
	}
}

static void a_name_that_is_not_near_gets_no_other_suggested(void **state)
{
	struct world world;

	(void)state;
	assert_int_equal(world_decode(&world, "{\"limits\":{\"foo\":1}}", NULL, 0), -EINVAL);
	assert_string_equal(world.err.text, "limits.foo: there is no such field");
	world_done(&world);
	assert_int_equal(world_decode(&world, "{\"limits\":{\"cpu\":1}}", NULL, 0), -EINVAL);
	assert_string_equal(world.err.text,
			    "limits.cpu: there is no such field; did you mean limits.cpus?");
	world_done(&world);
}

static void the_query_is_as_strict(void **state)
{
	static const struct {
		struct decode_pair pairs[2];
		const char *says;
	} rows[] = {
		{{{"ofset", "1"}, {0}},
		 "ofset: there is no such query parameter; did you mean offset?"},
		{{{"text", "x"}, {0}}, "text: there is no such query parameter"},
		{{{"offset", "1"}, {"offset", "2"}}, "offset: given twice"},
		{{{"offset", "x"}, {0}}, "offset: must be a whole number"},
		{{{"offset", "1001"}, {0}}, "offset: must be from 0 to 1000"},
		{{{"offset", "-1"}, {0}}, "offset: must be a whole number from 0 to 1000"},
		{{{"recursive", "maybe"}, {0}}, "recursive: must be true or false"},
		{{{"size", "1QiB"}, {0}}, "size: must be a number of bytes"},
		{{{"tag", "\xff"}, {0}}, "tag: is not UTF-8"},
	};
	struct world world;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t count = rows[i].pairs[1].name != NULL ? 2 : 1;

		assert_int_equal(world_decode(&world, "", rows[i].pairs, count), -EINVAL);
		assert_ptr_equal(strstr(world.err.text, rows[i].says), world.err.text);
		world_done(&world);
	}
}

static void what_is_required_must_be_there(void **state)
{
	static const struct op_param params[] = {
		{EVERY(text, .name = "text", .type = OP_TEXT, .is_required = true)},
	};
	const struct op op = {.name = "one",
			      .params = params,
			      .param_count = 1,
			      .args_size = sizeof(struct every_args)};
	const struct decode_source source = {0};
	struct decoded decoded = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(decode_args(&op, &source, &decoded, &err), -EINVAL);
	assert_string_equal(err.text, "text: is required");
}

static void percent_is_decoded_strictly(void **state)
{
	char text[32];

	(void)state;
	assert_int_equal(decode_percent("a%2Fb%20+%C3%A9", 15, text), 0);
	assert_string_equal(text, "a/b +\xc3\xa9");
	assert_int_equal(decode_percent("%", 1, text), -EINVAL);
	assert_int_equal(decode_percent("%4", 2, text), -EINVAL);
	assert_int_equal(decode_percent("%zz", 3, text), -EINVAL);
	assert_int_equal(decode_percent("%00", 3, text), -EINVAL);
	assert_int_equal(decode_percent("%ff", 3, text), -EINVAL);
	assert_int_equal(decode_percent("%C3", 3, text), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_that_is_not_given_is_what_its_row_says),
		cmocka_unit_test(fills_every_type),
		cmocka_unit_test(what_is_not_given_is_unset),
		cmocka_unit_test(null_is_an_answer_where_the_row_says_so),
		cmocka_unit_test(numbers_are_numbers_of_json),
		cmocka_unit_test(each_row_refuses_by_name),
		cmocka_unit_test(a_name_that_is_not_near_gets_no_other_suggested),
		cmocka_unit_test(the_query_is_as_strict),
		cmocka_unit_test(what_is_required_must_be_there),
		cmocka_unit_test(percent_is_decoded_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
