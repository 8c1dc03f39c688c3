// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "policy/imports.h"
#include "policy/stdlib_names.h"
#include "unit.h"

struct seen {
	char names[512];
};

static void see(void *context, const char *name, size_t size)
{
	struct seen *seen = context;
	size_t used = strlen(seen->names);

	(void)snprintf(seen->names + used, sizeof(seen->names) - used, "%s%.*s",
		       used > 0 ? " " : "", (int)size, name);
}

/* Scans an exact copy on the heap, so that a read past the end is one that a sanitizer sees. */
static void assert_names(const char *code, const char *names)
{
	size_t size = strlen(code);
	char *copy = malloc(size > 0 ? size : 1);
	struct seen seen = {0};

	assert_non_null(copy);
	memcpy(copy, code, size);
	imports_scan(copy, size, see, &seen);
	free(copy);
	if (strcmp(seen.names, names) != 0)
		fail_msg("%s\ngave \"%s\", not \"%s\"", code, seen.names, names);
}

static void finds_the_forms_of_import(void **state)
{
	(void)state;
	assert_names("import numpy", "numpy");
	assert_names("import numpy\n", "numpy");
	assert_names("import a.b.c as d, e, f as g\nimport h", "a e f h");
	assert_names("from x.y import z", "x");
	assert_names("from x import (\n a,\n b)\nimport c", "x c");
	assert_names("from x import *", "x");
	assert_names("import\ta", "a");
	assert_names("import  a . b , c", "a c");
	assert_names("\xef\xbb\xbfimport a", "a");
	assert_names("import \xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9");
}

static void finds_them_wherever_a_statement_starts(void **state)
{
	(void)state;
	assert_names("  import a\n\tfrom b import c", "a b");
	assert_names("x = 1; import a; from b import c", "a b");
	assert_names("if x: import a\nelse: import b", "a b");
	assert_names("try:\n  import a\nexcept ImportError:\n  a = None", "a");
	assert_names("def f():\n    import a\r\n    import b\rimport c", "a b c");
	assert_names("\f import a", "a");
	assert_names("x = y[1:2]\nimport a", "a");
}

static void follows_a_backslash_to_the_next_line(void **state)
{
	(void)state;
	assert_names("import a, \\\n  b", "a b");
	assert_names("import \\\r\n a", "a");
	assert_names("from \\\n a \\\n import b", "a");
	assert_names("x = 1 + \\\nimport_a", "");
	assert_names("x = \\\nimport a", "");
}

static void relative_imports_name_nothing(void **state)
{
	(void)state;
	assert_names("from . import a", "");
	assert_names("from .a import b", "");
	assert_names("from ... import a\nimport b", "b");
	assert_names("from.a import b", "");
}

static void skips_strings_and_comments(void **state)
{
	(void)state;
	assert_names("# import a\nimport b # import c\n#", "b");
	assert_names("'''\nimport a\n'''\nimport b", "b");
	assert_names("\"\"\"\nimport a\n'''\nimport c\"\"\"; import b", "b");
	assert_names("x = 'it\\'s; import a'\nimport b", "b");
	assert_names("x = \"; import a\"; import b", "b");
	assert_names("x = '''a\\''' import z\n''' ; import b", "b");
	assert_names("x = r'\\'; import a'\nimport b", "b");
	assert_names("x = 'not closed; import a\nimport b", "b");
	assert_names("x = 'goes \\\nimport a'\nimport b", "b");
	assert_names("x = ''\nimport b", "b");
	assert_names("x = '' ; import b", "b");
	assert_names("x = '''", "");
	assert_names("f'{x[\"a\"]}'; import b", "b");
}

static void words_that_only_look_like_it(void **state)
{
	(void)state;
	assert_names("important = 1\nimport_x = 2\nfrom_x = 3", "");
	assert_names("x.import_y\nyield from gen()", "");
	assert_names("import", "");
	assert_names("from", "");
	assert_names("import ", "");
	assert_names("from ", "");
	assert_names("import 'x'", "");
	assert_names("import ,", "");
	assert_names("import a,", "a");
	assert_names("import a,,b", "a");
	assert_names("raise X from y", "");
}

static void finds_calls_that_import(void **state)
{
	(void)state;
	assert_names("__import__('a')", "a");
	assert_names("x = importlib.import_module(\"a.b\")", "a");
	assert_names("__import__('.a')", "");
	assert_names("__import__(name)", "");
	assert_names("f('a')", "");
	assert_names("__import__('a b')", "");
	assert_names("('a')", "");
	assert_names("__import__('", "");
	assert_names("__import__('a", "");
}

static void every_prefix_of_code_is_safe(void **state)
{
	static const char code[] =
		"\xef\xbb\xbfimport a.b as c, \\\n d; from .x import y\n'''s\\''' #\"\n"
		"''' ; __import__(\"q\")\r\nfrom z import (w)\\";

	(void)state;
	for (size_t size = 0; size <= sizeof(code); size++) {
		char *copy = malloc(size > 0 ? size : 1);
		struct seen seen = {0};

		assert_non_null(copy);
		memcpy(copy, code, size);
		imports_scan(copy, size, see, &seen);
		free(copy);
	}
	imports_scan(NULL, 0, see, NULL);
}

static void the_standard_library_is_known(void **state)
{
	static const char *const inside[] = {"os",         "sys",      "json",     "asyncio",
					     "__future__", "zoneinfo", "_abc",     "tomllib",
					     "imp",        "tkinter",  "distutils"};
	static const char *const outside[] = {"numpy", "pandas", "o",   "oss", "",          "zzz",
					      "~",     "yaml",   "PIL", "jso", "jsonschema"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		assert_true(import_is_stdlib(inside[i], strlen(inside[i])));
	for (size_t i = 0; i < ARRAY_LEN(outside); i++)
		assert_false(import_is_stdlib(outside[i], strlen(outside[i])));
	assert_true(import_is_stdlib("os.path", 2));
	for (size_t i = 1; i < stdlib_name_count; i++)
		assert_true(strcmp(stdlib_names[i - 1], stdlib_names[i]) < 0);
	for (size_t i = 0; i < stdlib_name_count; i++)
		assert_true(import_is_stdlib(stdlib_names[i], strlen(stdlib_names[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_forms_of_import),
		cmocka_unit_test(finds_them_wherever_a_statement_starts),
		cmocka_unit_test(follows_a_backslash_to_the_next_line),
		cmocka_unit_test(relative_imports_name_nothing),
		cmocka_unit_test(skips_strings_and_comments),
		cmocka_unit_test(words_that_only_look_like_it),
		cmocka_unit_test(finds_calls_that_import),
		cmocka_unit_test(every_prefix_of_code_is_safe),
		cmocka_unit_test(the_standard_library_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
