// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "door/ending.h"
#include "unit.h"

static void assert_text(struct escaped text, const char *wanted)
{
	assert_int_equal(text.size, strlen(wanted));
	assert_memory_equal(text.text, wanted, text.size);
}

static bool read_ending(const char *json, struct ending *ret_ending)
{
	struct result result;

	result_read(json, strlen(json), &result);
	return ending_read(&result, ret_ending);
}

static void reads_a_result(void **state)
{
	static const char json[] =
		"{\"verdict\":{\"kind\":\"exit\",\"exit_code\":3,\"message\":\"m\",\"remedy\":\"\"}"
		","
		"\"stdout\":\"a\\n\",\"stderr\":\"\",\"truncated\":{\"stdout\":true,\"stderr\":"
		"false},"
		"\"result\":{\"text/plain\":\"1\",\"application/json\":{\"x\":[1]}},"
		"\"error\":{\"traceback\":\"T\\n\"}}";
	struct ending ending;

	(void)state;
	assert_true(read_ending(json, &ending));
	assert_true(ending_is(&ending, "exit"));
	assert_int_equal(ending.exit_code, 3);
	assert_text(ending.out, "a\\n");
	assert_text(ending.err, "");
	assert_text(ending.traceback, "T\\n");
	assert_int_equal(ending.value.size, 9);
	assert_memory_equal(ending.value.at, "{\"x\":[1]}", 9);
	assert_true(ending.is_out_cut);
	assert_false(ending.is_err_cut);
}

static void knows_what_is_no_result(void **state)
{
	struct ending ending;

	(void)state;
	assert_false(read_ending("{}", &ending));
	assert_false(read_ending("{\"verdict\":null}", &ending));
	assert_false(read_ending("[]", &ending));
	assert_false(read_ending("{\"verdict\":{\"kind\":\"12345678901234567\"}}", &ending));
}

static void reads_the_event_of_a_verdict(void **state)
{
	static const char json[] =
		"{\"seq\":9,\"type\":\"verdict\",\"verdict\":{\"kind\":\"killed\",\"exit_code\":"
		"null,"
		"\"signal\":9,\"message\":\"m\",\"remedy\":\"r\"},\"usage\":{\"wall_ms\":1.5,"
		"\"cpu_ms\":2,\"peak_memory\":4096},\"files\":[{}],\"saved_state\":{\"base64\":"
		"\"QQ==\","
		"\"lost\":[\"x\"],\"packages\":null}}";
	struct ending ending;

	(void)state;
	assert_true(read_ending(json, &ending));
	assert_int_equal(ending.signal, 9);
	assert_int_equal(ending.exit_code, 0);
	assert_memory_equal(ending.code.at, "null", ending.code.size);
	assert_true(ending.usage.wall_ms > 1.4 && ending.usage.wall_ms < 1.6);
	assert_int_equal((int)ending.usage.peak_memory, 4096);
	assert_memory_equal(ending.files.at, "[{}]", ending.files.size);
	assert_text(ending.saved, "QQ==");
	assert_memory_equal(ending.lost.at, "[\"x\"]", ending.lost.size);
	assert_int_equal(ending.packages.size, 0);
	assert_int_equal(ending.out.size + ending.value.size, 0);
	assert_false(ending.is_out_cut || ending.is_err_cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_result),
		cmocka_unit_test(reads_the_event_of_a_verdict),
		cmocka_unit_test(knows_what_is_no_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
