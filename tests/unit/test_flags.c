// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "cli/flags.h"
#include "unit.h"

struct options {
	bool is_on;
	const char *text;
	struct flag_list list;
	uint64_t count, size, ms, cpus;
};

static const char *const op_help = "from the op's row";

static const struct flag flags[] = {
	FLAG_ROW(struct options, is_on, "on", 'o', FLAG_SWITCH, NULL, "a switch"),
	FLAG_ROW(struct options, text, "text", 't', FLAG_TEXT, "TEXT", "a text"),
	FLAG_ROW(struct options, list, "list", 0, FLAG_LIST, "ITEM", "a list"),
	FLAG_ROW(struct options, count, "count", 0, FLAG_COUNT, "N", "a count"),
	FLAG_ROW(struct options, size, "size", 0, FLAG_SIZE, "512M", "a size"),
	FLAG_ROW(struct options, ms, "time", 0, FLAG_MS, "30s", "a time"),
	{.name = "cpus",
	 .kind = FLAG_CPUS,
	 .value = "0.5",
	 .help_from = &op_help,
	 .offset = offsetof(struct options, cpus)},
};

static int parse(char **argv, struct options *options, struct operands *operands, struct err *err)
{
	bool wants_help = false;
	int argc = 0;

	while (argv[argc] != NULL)
		argc++;
	*options = (struct options){0};
	return flags_parse(flags, ARRAY_LEN(flags), argc, argv, options, operands, &wants_help,
			   err);
}

#define WORDS(...)                                                                                 \
	(char *[])                                                                                 \
	{                                                                                          \
		(char[]){"viv"}, __VA_ARGS__, NULL                                                 \
	}
#define W(text) ((char[]){text})

static void takes_every_kind(void **state)
{
	struct options options;
	struct operands operands = {0};
	struct err err = {0};
	int r;

	(void)state;
	r = parse(WORDS(W("file"), W("-o"), W("--text=a=b"), W("--list"), W("1"), W("--list"),
			W("-2"), W("--count"), W("64"), W("--size=512M"), W("--time"), W("1500ms"),
			W("--cpus"), W("0.5"), W("-"), W("--"), W("--on")),
		  &options, &operands, &err);
	assert_ok(r, err);
	assert_true(options.is_on);
	assert_string_equal(options.text, "a=b");
	assert_int_equal(options.list.count, 2);
	assert_string_equal(options.list.items[1], "-2");
	assert_int_equal(options.count, 64);
	assert_int_equal(options.size, 512 * MIB);
	assert_int_equal(options.ms, 1500);
	assert_int_equal(options.cpus, 500);
	assert_int_equal(operands.count, 3);
	assert_string_equal(operands.items[0], "file");
	assert_string_equal(operands.items[1], "-");
	assert_string_equal(operands.items[2], "--on");
}

static void a_letter_takes_its_value_with_or_without_a_space(void **state)
{
	struct options options;
	struct operands operands = {0};
	struct err err = {0};
	int r;

	(void)state;
	r = parse(WORDS(W("-tx")), &options, &operands, &err);
	assert_ok(r, err);
	assert_string_equal(options.text, "x");
	r = parse(WORDS(W("-t"), W("")), &options, &operands, &err);
	assert_ok(r, err);
	assert_string_equal(options.text, "");
}

static void says_what_is_wrong(void **state)
{
	const struct {
		char **argv;
		const char *said;
	} rows[] = {
		{WORDS(W("--nosuch")), "--nosuch"},
		{WORDS(W("-x")), "-x"},
		{WORDS(W("--text")), "--text needs a value: TEXT"},
		{WORDS(W("--on=yes")), "--on takes no value"},
		{WORDS(W("--size"), W("lots")), "--size"},
		{WORDS(W("--count=-1")), "--count"},
		{WORDS(W("--tex"), W("x")), "--tex"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct options options;
		struct operands operands = {0};
		struct err err = {0};

		assert_int_equal(parse(rows[i].argv, &options, &operands, &err), -EINVAL);
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
		assert_contains(err.text, rows[i].said);
	}
}

static void a_list_has_an_end(void **state)
{
	char *words[2 * FLAG_LIST_MAX + 4];
	char name[] = "--list";
	char item[] = "x";
	struct options options;
	struct operands operands = {0};
	struct err err = {0};
	size_t count = 0;

	(void)state;
	words[count++] = name;
	for (size_t i = 0; i <= FLAG_LIST_MAX; i++) {
		words[count++] = name;
		words[count++] = item;
	}
	words[count] = NULL;
	assert_int_equal(parse(words, &options, &operands, &err), -E2BIG);
}

static void help_shows_every_row_within_the_width(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	flags_help(flags, ARRAY_LEN(flags), out);
	assert_int_equal(fclose(out), 0);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		char help[FLAG_HELP_MAX];

		flag_help(&flags[i], help);
		assert_contains(text, flags[i].name);
		assert_contains(text, help);
	}
	assert_contains(text, "-h, --help");
	free(text);
}

static void a_flag_of_other_subcommands_is_refused(void **state)
{
	static const struct flag some[] = {
		FLAG_ROW(struct options, is_on, "on", 'o', FLAG_SWITCH, NULL, "a switch"),
		FLAG_ROW_FOR("new, import", struct options, text, "text", 0, FLAG_TEXT, "TEXT",
			     "a text"),
		FLAG_ROW_FOR("new", struct options, count, "count", 0, FLAG_COUNT, "N", "a count"),
	};
	const size_t rows = ARRAY_LEN(some);
	char **words = WORDS(W("-o"), W("--count=0"));
	char help[FLAG_HELP_MAX];
	struct options options = {0};
	struct operands operands = {0};
	struct err err = {0};
	bool wants_help = false;

	(void)state;
	assert_int_equal(flags_parse(some, rows, 3, words, &options, &operands, &wants_help, &err),
			 0);
	assert_int_equal(operands.given, 5);
	assert_int_equal(flags_check(some, rows, operands.given, "box", "new", &err), 0);
	assert_int_equal(flags_check(some, rows, operands.given, "box", "import", &err), -EINVAL);
	assert_string_equal(err.text, "import takes no --count; it is a flag of `viv box new`");
	assert_int_equal(flags_check(some, rows, 1, "box", "run", &err), 0);
	assert_int_equal(flags_check(some, rows, 2, "box", "import", &err), 0);
	assert_int_equal(flags_check(some, rows, 2, "box", "imp", &err), -EINVAL);
	assert_string_equal(err.text,
			    "imp takes no --text; it is a flag of `viv box new`, `viv box import`");
	flag_help(&some[1], help);
	assert_string_equal(help, "new, import: a text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_every_kind),
		cmocka_unit_test(a_letter_takes_its_value_with_or_without_a_space),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(a_list_has_an_end),
		cmocka_unit_test(a_flag_of_other_subcommands_is_refused),
		cmocka_unit_test(help_shows_every_row_within_the_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
