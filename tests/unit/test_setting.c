// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "policy/setting.h"
#include "unit.h"

struct thing {
	uint64_t size, count, wait, share, mode;
	bool is_on;
	char *text, *path;
	struct text_list list;
};

#define AT(member_) .offset = offsetof(struct thing, member_)

static const struct setting rows[] = {
	{.key = "size",
	 .type = SETTING_BYTES,
	 AT(size),
	 .low = 16 * MIB,
	 .high = GIB,
	 .initial = 64 * MIB},
	{.key = "count", .type = SETTING_COUNT, AT(count), .low = 1, .high = 9, .initial = 3},
	{.key = "wait", .type = SETTING_MS, AT(wait), .low = 10, .high = 60000, .initial = 1000},
	{.key = "share", .type = SETTING_CPUS, AT(share), .low = 10, .high = 2000, .initial = 500},
	{.key = "mode",
	 .type = SETTING_CHOICE,
	 AT(mode),
	 .high = 2,
	 .initial = 1,
	 .words = "one|two|three"},
	{.key = "is_on", .type = SETTING_BOOL, AT(is_on), .initial = 1},
	{.key = "text", .type = SETTING_TEXT, AT(text), .low = 1, .high = 5, .text = "abc"},
	{.key = "path", .type = SETTING_PATH, AT(path), .text = ""},
	{.key = "list", .type = SETTING_LIST, AT(list), .high = 3, .text = "x y"},
};

static int make(void **state)
{
	struct thing *thing = xnew(struct thing);

	settings_init(rows, ARRAY_LEN(rows), thing);
	*state = thing;
	return 0;
}

static int end(void **state)
{
	settings_done(rows, ARRAY_LEN(rows), *state);
	settings_done(rows, ARRAY_LEN(rows), *state);
	free(*state);
	return 0;
}

static int set(struct thing *thing, const char *key, const char *text, struct err *err)
{
	return setting_parse(setting_find(rows, ARRAY_LEN(rows), key), thing, text, err);
}

static void starts_with_the_defaults(void **state)
{
	const struct thing *thing = *state;

	assert_int_equal(thing->size, 64 * MIB);
	assert_int_equal(thing->mode, 1);
	assert_true(thing->is_on);
	assert_string_equal(thing->text, "abc");
	assert_string_equal(thing->path, "");
	assert_int_equal(thing->list.count, 2);
	assert_string_equal(thing->list.items[1], "y");
}

static void stores_what_is_in_range(void **state)
{
	struct thing *thing = *state;
	struct err err = {0};

	assert_ok(set(thing, "size", "16MiB", &err), err);
	assert_ok(set(thing, "size", "1G", &err), err);
	assert_ok(set(thing, "mode", "three", &err), err);
	assert_ok(set(thing, "is_on", "No", &err), err);
	assert_ok(set(thing, "text", "abcde", &err), err);
	assert_ok(set(thing, "path", "/a//b/", &err), err);
	assert_int_equal(thing->size, GIB);
	assert_int_equal(thing->mode, 2);
	assert_false(thing->is_on);
	assert_string_equal(thing->text, "abcde");
	assert_string_equal(thing->path, "/a/b");
	assert_ok(set(thing, "path", "/", &err), err);
	assert_string_equal(thing->path, "/");
}

static void the_home_directory_may_be_a_tilde(void **state)
{
	struct thing *thing = *state;
	struct err err = {0};

	assert_int_equal(setenv("HOME", "/home/somebody", 1), 0);
	assert_ok(set(thing, "path", "~/x", &err), err);
	assert_string_equal(thing->path, "/home/somebody/x");
}

static void says_what_is_allowed(void **state)
{
	static const struct {
		const char *key, *text, *says;
	} cases[] = {
		{"size", "16777215",
		 "size: 16777215 is not an allowed size; allowed: 16MiB to 1GiB"},
		{"size", "2G", "16MiB to 1GiB"},
		{"size", "", "(empty)"},
		{"count", "0", "count: 0 is not an allowed number; allowed: 1 to 9"},
		{"count", "10", "1 to 9"},
		{"wait", "9ms", "10ms to 60s, as in 30s or 1500ms"},
		{"wait", "30", "as in 30s"},
		{"share", "2.001", "0.01 to 2"},
		{"mode", "four", "one, two or three"},
		{"mode", "on", "one, two or three"},
		{"mode", "", "one, two or three"},
		{"is_on", "maybe", "true or false"},
		{"is_on", "1", "true or false"},
		{"text", "", "a text of 1 to 5 bytes"},
		{"text", "abcdef", "a text of 1 to 5 bytes"},
		{"path", "relative", "an absolute path"},
		{"list", "x", "a list of up to 3 texts"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};

		assert_int_equal(set(*state, cases[i].key, cases[i].text, &err), -EINVAL);
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
		assert_contains(err.text, cases[i].says);
	}
	starts_with_the_defaults(state);
}

static void a_list_is_taken_whole_or_not_at_all(void **state)
{
	const struct setting *row = setting_find(rows, ARRAY_LEN(rows), "list");
	char a[] = "a", empty[] = "";
	char *const good[] = {a, a, a}, *const bad[] = {a, empty}, *const many[] = {a, a, a, a};
	struct thing *thing = *state;
	struct err err = {0};

	assert_int_equal(setting_parse_list(row, thing, bad, 2, &err), -EINVAL);
	assert_int_equal(setting_parse_list(row, thing, many, 4, &err), -EINVAL);
	assert_int_equal(thing->list.count, 2);
	assert_ok(setting_parse_list(row, thing, good, 3, &err), err);
	assert_int_equal(thing->list.count, 3);
	assert_true(text_list_has(&thing->list, "a"));
	assert_false(text_list_has(&thing->list, "x"));
	assert_ok(setting_parse_list(row, thing, NULL, 0, &err), err);
	assert_int_equal(thing->list.count, 0);
}

static void a_copy_shares_nothing(void **state)
{
	struct thing *thing = *state, copy = {0};
	struct err err = {0};

	settings_init(rows, ARRAY_LEN(rows), &copy);
	assert_ok(set(thing, "text", "own", &err), err);
	settings_copy(rows, ARRAY_LEN(rows), &copy, thing);
	thing->text[0] = 'X';
	thing->list.items[0][0] = 'X';
	assert_string_equal(copy.text, "own");
	assert_string_equal(copy.list.items[0], "x");
	settings_done(rows, ARRAY_LEN(rows), &copy);
}

static void writes_values_as_text_it_would_read(void **state)
{
	static const char *const texts[] = {"64MiB", "3",   "1s", "0.5",   "two",
					    "true",  "abc", "",   "[x, y]"};
	char text[32], tiny[4];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		setting_format(&rows[i], *state, text, sizeof(text));
		assert_string_equal(text, texts[i]);
		setting_format(&rows[i], *state, tiny, sizeof(tiny));
		setting_range(&rows[i], tiny, sizeof(tiny));
		assert_true(strlen(tiny) < sizeof(tiny));
	}
}

static void an_unknown_key_has_no_row(void **state)
{
	(void)state;
	assert_null(setting_find(rows, ARRAY_LEN(rows), "siz"));
	assert_null(setting_find(rows, ARRAY_LEN(rows), "sizes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(starts_with_the_defaults, make, end),
		cmocka_unit_test_setup_teardown(stores_what_is_in_range, make, end),
		cmocka_unit_test_setup_teardown(the_home_directory_may_be_a_tilde, make, end),
		cmocka_unit_test_setup_teardown(says_what_is_allowed, make, end),
		cmocka_unit_test_setup_teardown(a_list_is_taken_whole_or_not_at_all, make, end),
		cmocka_unit_test_setup_teardown(a_copy_shares_nothing, make, end),
		cmocka_unit_test_setup_teardown(writes_values_as_text_it_would_read, make, end),
		cmocka_unit_test(an_unknown_key_has_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
