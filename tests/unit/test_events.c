// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "base/json.h"
#include "session/events.h"
#include "unit.h"

struct heard {
	uint64_t seqs[16];
	size_t count;
	char last[256];
};

static void hear(void *user, uint64_t seq, const char *text, size_t size)
{
	struct heard *heard = user;

	heard->seqs[heard->count++] = seq;
	(void)snprintf(heard->last, sizeof(heard->last), "%.*s", (int)size, text);
}

static void numbers_them_and_ends_with_the_verdict(void **state)
{
	struct heard heard = {0};
	struct events_sink sink = {.event = hear, .user = &heard};
	struct events events;

	(void)state;
	events_init(&events, 4096);
	assert_int_equal(events_add(&events, "started", ",\"run\":\"run_x\"", 14), 0);
	events_subscribe(&events, &sink);
	assert_int_equal(events_add(&events, "stdout", ",\"text\":\"a\"", 11), 0);
	assert_int_equal(events_add(&events, "verdict", "", 0), 0);
	assert_int_equal(events_add(&events, "stdout", "", 0), -ESHUTDOWN);

	assert_int_equal(heard.count, 2);
	assert_int_equal(heard.seqs[0], 2);
	assert_int_equal(heard.seqs[1], 3);
	assert_true(json_is_valid(heard.last, strlen(heard.last)));
	assert_contains(heard.last, "\"seq\":3,");
	assert_contains(heard.last, "\"type\":\"verdict\"");
	events_done(&events);
}

static void whoever_comes_later_gets_the_rest(void **state)
{
	struct events events;
	const char *text = NULL;
	uint64_t seq = 0;
	size_t size = 0;

	(void)state;
	events_init(&events, 4096);
	for (int i = 0; i < 3; i++)
		assert_int_equal(events_add(&events, "stdout", "", 0), 0);
	assert_true(events_next(&events, 1, &seq, &text, &size));
	assert_int_equal(seq, 2);
	assert_true(json_is_valid(text, size));
	assert_true(events_next(&events, 2, &seq, &text, &size));
	assert_int_equal(seq, 3);
	assert_false(events_next(&events, 3, &seq, &text, &size));
	events_done(&events);
}

static void drops_the_oldest_and_says_so(void **state)
{
	struct events events;
	const char *text = NULL;
	uint64_t seq = 0;
	size_t size = 0;

	(void)state;
	events_init(&events, 300);
	for (int i = 0; i < 20; i++)
		assert_int_equal(events_add(&events, "stdout", "", 0), 0);
	assert_true(events.is_cut);
	assert_true(events.text.size <= 300);
	assert_true(events_next(&events, 0, &seq, &text, &size));
	assert_true(seq > 1);
	assert_int_equal(seq, events.first_seq);
	events_done(&events);
}

static void an_event_larger_than_the_log_is_told_once(void **state)
{
	struct heard heard = {0};
	struct events_sink sink = {.event = hear, .user = &heard};
	struct events events;
	char large[400];
	const char *text = NULL;
	uint64_t seq = 0;
	size_t size = 0;

	(void)state;
	(void)snprintf(large, sizeof(large), ",\"text\":\"%0300d\"", 0);
	events_init(&events, 200);
	events_subscribe(&events, &sink);
	assert_int_equal(events_add(&events, "stdout", large, strlen(large)), 0);
	assert_int_equal(heard.count, 1);
	assert_false(events_next(&events, 0, &seq, &text, &size));
	assert_int_equal(events_add(&events, "stdout", "", 0), 0);
	assert_true(events_next(&events, 0, &seq, &text, &size));
	assert_int_equal(seq, 2);
	events_done(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_them_and_ends_with_the_verdict),
		cmocka_unit_test(whoever_comes_later_gets_the_rest),
		cmocka_unit_test(drops_the_oldest_and_says_so),
		cmocka_unit_test(an_event_larger_than_the_log_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
