// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/json.h"
#include "log_unit.h"
#include "session/result.h"
#include "session/run_state.h"

/* A run that is over, as its own struct says and as its log says: both from the same parts. */
struct twins {
	struct run *run;
	struct log *log;
};

static struct twins make_twins(struct stage *stage)
{
	struct twins twins = {.run = xnew(struct run)};
	struct run *run = twins.run;

	(void)snprintf(run->id, sizeof(run->id), "run_a");
	run->state = RUN_OVER;
	run->place.backend = "namespace";
	run->runtime = strdup("base \"one\"");
	run->place.hello.walls = 5;
	run->place.has_limits = true;
	run->place.limits = BOX_LIMITS_V1;
	run->begun_ns = 2500000;
	run->over_ns = 9000000;
	run->end.facts.exit.cpu_us = 1234;
	run->end.facts.exit.peak = 4096;
	for (size_t i = 0; i < 2; i++)
		buf_init(&run->told.streams[i].kept, MIB);
	for (size_t i = 0; i < RESULT_COUNT; i++)
		buf_init(&run->told.parts[i], MIB);
	buf_init(&run->end.extras.missing, MIB);
	twins.log = add_log_of(stage, "run_a", "{\"session\":null,\"limits\":{}}", "1");
	add_line(stage, twins.log, "started",
		 ",\"run\":\"run_a\",\"backend\":\"namespace\","
		 "\"runtime\":\"base \\\"one\\\"\"");
	return twins;
}

static void print_both(struct stage *stage, struct twins *twins, int number, const char *text)
{
	struct run_stream *stream = &twins->run->told.streams[number - 1];
	struct buf members;

	buf_init(&members, MIB);
	assert_int_equal(buf_text(&stream->kept, text), 0);
	stream->seen += strlen(text);
	assert_int_equal(buf_text(&members, ",\"text\":"), 0);
	assert_int_equal(json_put_text(&members, text), 0);
	add_line(stage, twins->log, number == 1 ? "stdout" : "stderr", buf_string(&members));
	buf_done(&members);
}

static void tell_both(struct stage *stage, struct twins *twins, enum result_member part,
		      bool is_list, const char *type, const char *member, const char *value)
{
	struct buf *kept = &twins->run->told.parts[part];
	char members[256];

	if (!is_list)
		buf_consume(kept, kept->size);
	assert_int_equal(buf_format(kept, "%s%s", kept->size > 0 ? "," : "", value), 0);
	(void)snprintf(members, sizeof(members), ",\"%s\":%s", member, value);
	add_line(stage, twins->log, type, members);
}

static void end_both(struct stage *stage, struct twins *twins, enum verdict_kind kind)
{
	struct buf members;

	buf_init(&members, MIB);
	twins->run->end.verdict =
		(struct verdict){.kind = kind, .exit_code = 1, .message = "it \"ended\""};
	assert_int_equal(result_verdict_members(twins->run, &members), 0);
	add_line(stage, twins->log, "verdict", buf_string(&members));
	buf_done(&members);
}

static void assert_same(const struct result *one, const struct result *other)
{
	for (size_t i = 0; i < RESULT_COUNT; i++) {
		assert_int_equal(one->members[i].size, other->members[i].size);
		assert_memory_equal(one->members[i].at, other->members[i].at, one->members[i].size);
	}
	assert_int_equal(one->verdict.kind, other->verdict.kind);
	assert_string_equal(one->verdict.message, other->verdict.message);
	assert_int_equal(one->usage.peak_memory, other->usage.peak_memory);
	assert_memory_equal(&one->truncated, &other->truncated, sizeof(one->truncated));
}

/* As text and as a value, from the run, from its log, and read from the text. */
static void assert_twins(struct stage *stage, struct twins *twins)
{
	struct result values[3];
	struct buf one, other;

	buf_init(&one, MIB);
	buf_init(&other, MIB);
	assert_ok(run_result(twins->run, &one, &values[0], &stage->err), stage->err);
	assert_ok(log_result(twins->log, &other, &values[1], &stage->err), stage->err);
	assert_true(json_is_valid(other.data, other.size));
	assert_string_equal(buf_string(&one), buf_string(&other));
	result_read(buf_string(&other), other.size, &values[2]);
	for (size_t i = 1; i < ARRAY_LEN(values); i++)
		assert_same(&values[0], &values[i]);
	buf_done(&one);
	buf_done(&other);
}

static void free_twins(struct twins *twins)
{
	struct run *run = twins->run;

	for (size_t i = 0; i < 2; i++)
		buf_done(&run->told.streams[i].kept);
	for (size_t i = 0; i < RESULT_COUNT; i++)
		buf_done(&run->told.parts[i]);
	buf_done(&run->end.extras.missing);
	free(run->runtime);
	free(run);
}

static void the_log_gives_what_the_run_gives(void **state)
{
	struct stage *stage = *state;
	struct twins twins = make_twins(stage);

	print_both(stage, &twins, 1, "a \"quoted\" line\n");
	print_both(stage, &twins, 2, "w\xc3\xa4rning \\ \x01\n");
	print_both(stage, &twins, 1, "the rest \xff \xf0\x9f\x90\x8d");
	tell_both(stage, &twins, RESULT_DISPLAYS, true, "display", "data",
		  "{\"text/plain\":\"1\"}");
	tell_both(stage, &twins, RESULT_DISPLAYS, true, "display", "data", "{\"text/html\":\"2\"}");
	tell_both(stage, &twins, RESULT_CHARTS, true, "chart", "chart", "{\"kind\":\"spec\"}");
	tell_both(stage, &twins, RESULT_TABLE, false, "table", "table", "{\"columns\":[\"old\"]}");
	tell_both(stage, &twins, RESULT_TABLE, false, "table", "table", "{\"columns\":[]}");
	tell_both(stage, &twins, RESULT_RESULT, false, "result", "result",
		  "{\"text/plain\":\"5\"}");
	tell_both(stage, &twins, RESULT_ERROR, false, "error", "error", "{\"type\":\"E\"}");
	tell_both(stage, &twins, RESULT_FILES, true, "file", "file", "{\"path\":\"/workspace/a\"}");
	tell_both(stage, &twins, RESULT_FILES, true, "file", "file", "{\"path\":\"/workspace/b\"}");
	assert_int_equal(buf_text(&twins.run->end.extras.missing, "\"/workspace/c\""), 0);
	twins.run->told.cut.out = true;
	twins.run->told.cut.files = true;
	end_both(stage, &twins, VERDICT_EXCEPTION);
	assert_twins(stage, &twins);

	restart(stage);
	twins.log = logs_find(stage->logs, "run_a");
	assert_twins(stage, &twins);
	free_twins(&twins);
}

static void so_it_does_when_nothing_was_said(void **state)
{
	struct stage *stage = *state;
	struct twins twins = make_twins(stage);

	end_both(stage, &twins, VERDICT_OK);
	assert_twins(stage, &twins);
	free_twins(&twins);
}

static void a_run_that_goes_on_has_no_verdict_yet(void **state)
{
	struct stage *stage = *state;
	const uint64_t marks[3] = {3, 4, 0};
	struct log *log = add_log_of(
		stage, "run_a", "{\"session\":\"ses_1\",\"backend\":\"b\",\"runtime\":\"r\"}", "1");
	struct result result;
	struct buf json;

	buf_init(&json, MIB);
	assert_ok(log_result(log, &json, &result, &stage->err), stage->err);
	assert_true(json_is_valid(json.data, json.size));
	assert_contains(buf_string(&json),
			"{\"id\":\"run_a\",\"session\":\"ses_1\",\"verdict\":null,"
			"\"state\":\"none\",\"stdout\":\"\",");
	assert_contains(buf_string(&json), "\"backend\":\"b\",\"runtime\":\"r\",\"walls\":[]");
	buf_consume(&json, json.size);

	add_line(stage, log, "started", ",\"backend\":\"namespace\",\"runtime\":\"base\"");
	assert_ok(log_add(log, "stdout", ",\"text\":\"abc\"", 13, marks, false, &stage->err),
		  stage->err);
	add_line(stage, log, "file", ",\"file\":{\"path\":\"x\"}");
	assert_ok(log_result(log, &json, &result, &stage->err), stage->err);
	assert_true(json_is_valid(json.data, json.size));
	assert_contains(buf_string(&json), "\"stdout\":\"abc\",");
	assert_contains(buf_string(&json), "\"files\":[{\"path\":\"x\"}],");
	assert_contains(buf_string(&json), "\"output_bytes\":7}");
	assert_contains(buf_string(&json), "\"backend\":\"namespace\",\"runtime\":\"base\"");
	buf_done(&json);
}

static void the_checkpoint_is_passed_on(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	struct result result;
	struct buf json;

	buf_init(&json, MIB);
	add_line(stage, log, "verdict",
		 ",\"verdict\":{\"kind\":\"ok\"},\"state\":\"preserved\","
		 "\"checkpoint\":{\"id\":\"cp_1\"}");
	assert_ok(log_result(log, &json, &result, &stage->err), stage->err);
	assert_contains(buf_string(&json), "\"verdict\":{\"kind\":\"ok\"},\"state\":\"preserved\"");
	assert_contains(buf_string(&json), "\"checkpoint\":{\"id\":\"cp_1\"},\"usage\":");
	buf_done(&json);
}

static void a_result_fails_where_it_cannot_be_whole(void **state)
{
	struct stage *stage = *state;
	static char text[40000];
	struct log *log = NULL;
	struct result result;
	struct buf json;

	stage->settings.disk_max = 256 * KIB;
	restart(stage);
	log = add_log(stage, "run_a");
	(void)snprintf(text, sizeof(text), ",\"text\":\"%030000d\"", 0);
	add_line(stage, log, "stdout", text);
	buf_init(&json, 1000);
	assert_int_equal(log_result(log, &json, &result, &stage->err), -EMSGSIZE);
	assert_int_equal(stage->err.kind, ERR_TOO_LARGE);
	buf_done(&json);

	for (int i = 0; i < 20; i++)
		add_line(stage, log, "stdout", text);
	buf_init(&json, MIB);
	assert_int_equal(log_result(log, &json, &result, &stage->err), -ENOENT);
	assert_int_equal(stage->err.kind, ERR_NOT_FOUND);
	buf_done(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGE(the_log_gives_what_the_run_gives),
		STAGE(so_it_does_when_nothing_was_said),
		STAGE(a_run_that_goes_on_has_no_verdict_yet),
		STAGE(the_checkpoint_is_passed_on),
		STAGE(a_result_fails_where_it_cannot_be_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
