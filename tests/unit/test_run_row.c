// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "op/run_row.h"
#include "unit.h"

static const struct {
	const char *code;
	const char *line;
} rows[] = {
	{"x = 1\ny = 2", "x = 1"},
	{"\n\n   x = 1  \n", "x = 1  "},
	{"import pandas as pd\nfrom numpy import pi\nframe = pd.read_csv('a.csv')",
	 "frame = pd.read_csv('a.csv')"},
	{"# What it is about\r\n\r\nimport os\r\nos.getcwd()\r\n", "os.getcwd()"},
	{"from math import (\n    sin,  # (one)\n\n    cos,\n)\nsin(1)", "sin(1)"},
	{"from a import b, \\\n    c\nb(c)", "b(c)"},
	{"import os; os.getcwd()", "import os; os.getcwd()"},
	{"from .a import b\nb()", "b()"},
	{"important = 1\nfrom_here = 2", "important = 1"},
	{"if True:\n    import os", "if True:"},
	/* Nothing but imports and comments: the first of them. */
	{"\nimport os\n# and no more", "import os"},
	{"# only this\n\n", "# only this"},
	{"from a import (\n  b", "from a import ("},
	{"", ""},
	{" \n\t\n", ""},
};

static void line_of(const char *code, size_t size, char *text, size_t room)
{
	struct buf json;

	buf_init(&json, 4096);
	assert_int_equal(run_row_put_line(&json, code, size), 0);
	assert_true(json.size >= 2 && json.size - 2 < room);
	memcpy(text, json.data + 1, json.size - 2);
	text[json.size - 2] = '\0';
	buf_done(&json);
}

static void code_is_named_by_the_first_line_that_does_something(void **state)
{
	char text[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		line_of(rows[i].code, strlen(rows[i].code), text, sizeof(text));
		assert_string_equal(text, rows[i].line);
	}
	line_of(NULL, 0, text, sizeof(text));
	assert_string_equal(text, "");
}

static void a_long_line_is_cut_between_characters(void **state)
{
	char code[400];
	char text[1024];

	(void)state;
	memset(code, 'a', RUN_ROW_LINE_MAX - 1);
	memcpy(code + RUN_ROW_LINE_MAX - 1, "\u20ac = 1", sizeof("\u20ac = 1"));
	line_of(code, strlen(code), text, sizeof(text));
	assert_int_equal(strlen(text), RUN_ROW_LINE_MAX - 1);

	/* No end of the text is needed: the size is all there is. */
	line_of("x = 12345", 5, text, sizeof(text));
	assert_string_equal(text, "x = 1");
	line_of("#", 1, text, sizeof(text));
	assert_string_equal(text, "#");
	line_of("import", 6, text, sizeof(text));
	assert_string_equal(text, "import");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_named_by_the_first_line_that_does_something),
		cmocka_unit_test(a_long_line_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
