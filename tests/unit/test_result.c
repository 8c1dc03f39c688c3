// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "session/result.h"
#include "unit.h"

#define READ(json, result) result_read(json, strlen(json), result)

static void a_verdict_that_is_written_is_read_again(void **state)
{
	struct verdict verdict = {
		.kind = VERDICT_MEMORY,
		.exit_code = 137,
		.message = "out of \"memory\"",
		.limit_value = 4096,
		.peak = 5000,
		.by = VERDICT_BY_RUNNER,
	};
	struct verdict again;
	struct buf json;

	(void)state;
	verdict_set_remedy(&verdict, "memory", "");
	verdict.limit = "memory";
	buf_init(&json, 1U << 16);
	assert_int_equal(fields_put(verdict_fields, &verdict, &json), 0);
	again = verdict_read((const char *)json.data, json.size);
	assert_string_equal(again.limit, verdict.limit); /* a constant of another file */
	again.limit = verdict.limit;
	assert_memory_equal(&again, &verdict, sizeof(verdict));
	buf_done(&json);
}

static void what_is_not_as_it_should_be_is_not_read(void **state)
{
	struct result result;

	(void)state;
	READ("{\"verdict\":{\"kind\":\"exit\",\"exit_code\":256,\"signal\":-1,\"limit\":\"money\","
	     "\"message\":1,\"peak\":1e3,\"by\":true,\"limit_value\":99999999999999999},"
	     "\"usage\":{\"wall_ms\":1e999,\"cpu_ms\":-1,\"peak_memory\":\"1\"},"
	     "\"truncated\":[true]}",
	     &result);
	assert_int_equal(result.verdict.kind, VERDICT_EXIT);
	assert_int_equal(result.verdict.exit_code, 0);
	assert_int_equal(result.verdict.signal, 0);
	assert_null(result.verdict.limit);
	assert_string_equal(result.verdict.message, "");
	assert_true(result.verdict.peak == 0 && result.verdict.limit_value == 0);
	assert_true(result.usage.wall_ms == 0 && result.usage.cpu_ms == 0);
	assert_true(result.usage.peak_memory == 0 && !result.truncated.out);
	READ("{\"verdict\":{\"kind\":\"\",\"exit_code\":3}}", &result);
	assert_int_equal(result.verdict.kind, VERDICT_NONE);
	assert_int_equal(result.verdict.exit_code, 0);
	READ("[1]", &result);
	assert_int_equal(result.members[RESULT_STDOUT].size, 0);
}

static void the_first_of_two_members_counts(void **state)
{
	struct result result;

	(void)state;
	READ("{\"stdout\":\"a\",\"st\\u0061te\":\"lost\",\"stdout\":\"b\"}", &result);
	assert_int_equal(result.members[RESULT_STDOUT].size, 3);
	assert_memory_equal(result.members[RESULT_STDOUT].at, "\"a\"", 3);
	assert_memory_equal(result.members[RESULT_STATE].at, "\"lost\"", 6);
}

static void what_is_told_by_events_is_described_as_a_member_of_theirs(void **state)
{
	struct buf text;

	(void)state;
	buf_init(&text, 1U << 16);
	assert_int_equal(result_describe_event(&text), 0);
	for (unsigned i = 0; i < RESULT_COUNT; i++) {
		char name[64];

		if (result_rows[i].event == NULL)
			continue;
		(void)snprintf(name, sizeof(name), " %s:", result_from((enum result_member)i));
		assert_non_null(strstr(buf_string(&text), name));
	}
	assert_non_null(strstr(buf_string(&text), " chart:@Chart "));
	assert_non_null(strstr(buf_string(&text), " files:@File[] "));
	buf_done(&text);
}

static void assert_span(struct span span, const char *wanted)
{
	assert_int_equal(span.size, strlen(wanted));
	assert_memory_equal(span.at, wanted, span.size);
}

static void an_event_tells_members_of_the_result(void **state)
{
	static const char printed[] = "{\"text\":\"a\",\"text\":\"b\",\"base64\":\"/w==\","
				      "\"type\":\"stdout\",\"chart\":{},\"seq\":7}";
	static const char drawn[] = "{\"type\":\"chart\",\"chart\":{\"kind\":\"image\"}}";
	static const char ended[] = "{\"type\":\"verdict\",\"run\":\"run_1\",\"verdict\":"
				    "{\"kind\":\"exit\",\"exit_code\":3},\"files\":[{}],"
				    "\"file\":{}}";
	struct event event;

	(void)state;
	event_read(printed, strlen(printed), &event);
	assert_true(event_is(&event, "stdout"));
	assert_span(event.told.members[RESULT_STDOUT], "\"a\"");
	assert_span(event.base64, "\"/w==\"");
	assert_span(event.seq, "7");
	assert_span(event.told.members[RESULT_CHARTS], "");
	event_read(drawn, strlen(drawn), &event);
	assert_span(event.told.members[RESULT_CHARTS], "{\"kind\":\"image\"}");
	event_read(ended, strlen(ended), &event);
	assert_span(event.told.members[RESULT_FILES], "[{}]");
	assert_span(event.run, "\"run_1\"");
	assert_int_equal(event.told.verdict.kind, VERDICT_EXIT);
	assert_int_equal(event.told.verdict.exit_code, 3);
	event_read("[]", 2, &event);
	assert_string_equal(event.type, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verdict_that_is_written_is_read_again),
		cmocka_unit_test(what_is_not_as_it_should_be_is_not_read),
		cmocka_unit_test(the_first_of_two_members_counts),
		cmocka_unit_test(an_event_tells_members_of_the_result),
		cmocka_unit_test(what_is_told_by_events_is_described_as_a_member_of_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
