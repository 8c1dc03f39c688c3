// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/json.h"
#include "log_unit.h"
#include "session/log_text.h"

/* ---- members ---- */

static const char *const objects[] = {
	"{}",
	" { } ",
	"{\"a\":1}",
	"{ \"a\" : -1.5e3 , \"b\":true,\"c\" :null }",
	"{\"\":\"\",\"a\\\"b\":\"c\\\\\",\"d\":\"}\"}",
	"{\"a\":[1,[2,{\"x\":\"]\"}],\"\\\\\"],\"b\":{\"c\":{\"d\":[]}},\"e\":[]}",
	"{\"t\":\"\\u0022\xc3\xa4\",\"a\":{},\"a\":2}",
};

static void check_members(const char *text, size_t step)
{
	struct json_member want = {0};
	struct members members = {0};
	size_t size = strlen(text);
	int r;

	do {
		size_t budget = step;

		r = members_next(&members, text, size, &budget);
		assert_true(budget <= step);
		if (r != 1)
			continue;
		assert_true(json_next(text, size, &want));
		assert_int_equal(members.name_at, want.name - text);
		assert_int_equal(members.name_size, want.name_size);
		assert_int_equal(members.value_at, want.value - text);
		assert_int_equal(members.size, want.size);
		assert_true(members_is_named(&members, text, "a") == json_is_named(&want, "a"));
	} while (r >= 0);
	assert_false(json_next(text, size, &want));
}

static void members_come_whatever_the_budget(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		for (size_t step = 1; step < 100; step++)
			check_members(objects[i], step);
	}
}

/* Of bytes that are no JSON nothing is promised but an end, within them. */
static void what_is_no_object_has_an_end(void **state)
{
	static const char *const bad[] = {"",       "{",           "}",       "{]",      "{,",
					  "[1,2]",  "\"",          "\"a\\",   "{\"a\":", "{\"a",
					  "{\"a\\", "{\"a\":\"\\", "{\"a\"}", "1",       "{{{{",
					  "]]]]",   "{\"a\":]}",   ",,,,"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		for (size_t step = 1; step < 20; step++) {
			struct members members = {0};
			size_t size = strlen(bad[i]);
			size_t turns = 0;
			int r;

			do {
				size_t budget = step;

				r = members_next(&members, bad[i], size, &budget);
				if (r == 1)
					assert_true(members.value_at + members.size <= size);
				assert_true(turns++ < 100);
			} while (r >= 0);
		}
	}
}

/* ---- texts ---- */

static void fill(struct stage *stage)
{
	static char long_text[9000];
	struct log *log = add_log_of(stage, "run_a", "{\"session\":\"ses_1\"}",
				     "x = '\xc3\xa4\xff'\nprint(x)");

	(void)snprintf(long_text, sizeof(long_text), ",\"text\":\"%08000d\\n\"", 0);
	add_line(stage, log, "started", ",\"backend\":\"b\",\"runtime\":\"r\"");
	for (int i = 0; i < 20; i++) {
		add_line(stage, log, i % 3 == 0 ? "stderr" : "stdout", long_text);
		add_line(stage, log, "display",
			 ",\"data\":{\"text/html\":\"<b>\",\"x\":[1],\"text/plain\":\"b\"}");
		add_line(stage, log, "chart",
			 ",\"chart\":{\"kind\":\"image\",\"base64\":\"aGk=\"}");
	}
	add_line(stage, log, "error",
		 ",\"error\":{\"type\":\"E\",\"message\":\"m\",\"traceback\":\"one\\ntwo\\n\"}");
	add_line(stage, log, "verdict",
		 ",\"verdict\":{\"kind\":\"exception\"},\"state\":\"none\",\"usage\":{}");
}

static struct log_text *open_text(struct stage *stage, bool is_notebook)
{
	struct log_text *text = NULL;

	if (is_notebook)
		return logs_notebook_open(stage->logs, "ses_1", "n");
	assert_ok(log_result_open(logs_find(stage->logs, "run_a"), &text, &stage->err), stage->err);
	return text;
}

static void a_text_is_the_same_however_it_is_read(void **state)
{
	struct stage *stage = *state;
	static const size_t rooms[] = {1, 7, 100, 4096, 100000};

	fill(stage);
	for (int kind = 0; kind < 2; kind++) {
		struct buf whole, slices;

		buf_init(&whole, MIB);
		assert_ok(take_whole(open_text(stage, kind == 1), &whole, &stage->err), stage->err);
		assert_true(json_is_valid(whole.data, whole.size));
		assert_true(whole.size > 100000);
		for (size_t i = 0; i < ARRAY_LEN(rooms); i++) {
			struct log_text *text = open_text(stage, kind == 1);
			static char piece[100000];
			int64_t n = 0;

			buf_init(&slices, MIB);
			while ((n = log_text_read(text, piece, rooms[i])) >= 0)
				assert_int_equal(buf_append(&slices, piece, (size_t)n), 0);
			assert_int_equal(n, -1);
			assert_int_equal(log_text_read(text, piece, 1), -1);
			assert_string_equal(buf_string(&slices), buf_string(&whole));
			log_text_free(text);
			buf_done(&slices);
		}
		buf_done(&whole);
	}
}

/* A result that loses its log is cut off; a notebook goes on with what is left. */
static void a_log_that_is_forgotten_breaks_its_result_off(void **state)
{
	struct stage *stage = *state;
	struct log_text *texts[2];
	char piece[1000];
	int64_t n = 0;

	fill(stage);
	for (size_t i = 0; i < 2; i++) {
		texts[i] = open_text(stage, i == 1);
		assert_int_equal(log_text_read(texts[i], piece, sizeof(piece)), sizeof(piece));
	}
	logs_tick(stage->logs, UINT64_MAX / 2, UINT32_MAX);
	assert_null(logs_find(stage->logs, "run_a"));
	for (size_t i = 0; i < 2; i++) {
		while ((n = log_text_read(texts[i], piece, sizeof(piece))) >= 0)
			continue;
		if (i == 0)
			assert_int_equal(n, -2);
		log_text_free(texts[i]);
	}
}

static void what_is_added_later_is_not_in_it(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_log(stage, "run_a");
	struct log_text *text = NULL;
	struct buf buf;

	add_line(stage, log, "stdout", ",\"text\":\"before\"");
	assert_ok(log_result_open(log, &text, &stage->err), stage->err);
	add_line(stage, log, "stdout", ",\"text\":\"after\"");
	add_line(stage, log, "verdict", ",\"verdict\":{\"kind\":\"ok\"}");
	buf_init(&buf, MIB);
	assert_ok(take_whole(text, &buf, &stage->err), stage->err);
	assert_contains(buf_string(&buf), "\"verdict\":null");
	assert_contains(buf_string(&buf), "\"stdout\":\"before\"");
	buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_come_whatever_the_budget),
		cmocka_unit_test(what_is_no_object_has_an_end),
		STAGE(a_text_is_the_same_however_it_is_read),
		STAGE(a_log_that_is_forgotten_breaks_its_result_off),
		STAGE(what_is_added_later_is_not_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
