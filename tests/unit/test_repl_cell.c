// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "cli/repl_cell.h"
#include "unit.h"

static void entries_that_are_whole(void **state)
{
	static const char *const texts[] = {
		"",
		"   ",
		"x = 1",
		"f(1, [2, {3: 4}])",
		"'it is (not open'",
		"\"a colon:\"",
		"x = 1  # a comment that ends with a colon:",
		"d = {'a': 1}",
		"s = '''a\nb'''",
		"for i in x:\n    print(i)\n",
		"for i in x:\n    print(i)\n    ",
		"@cached\ndef f():\n    pass\n",
		"a = b'\\'('",
		"x[1:2]",
		"lambda: 1",
		")",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (!repl_cell_is_whole(texts[i], strlen(texts[i])))
			fail_msg("'%s' should be whole", texts[i]);
	}
}

static void entries_that_go_on(void **state)
{
	static const char *const texts[] = {
		"for i in x:",
		"for i in x:  # why",
		"for i in x:\n    print(i)",
		"f(1,",
		"x = [1,\n2",
		"d = {",
		"s = '''a",
		"s = \"\"\"a 'b' \"\" \\\"\"\" ",
		"x = 1 + \\",
		"@cached",
		"class A:\n    def f(self):\n        pass",
		"if (a and\n    b):",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (repl_cell_is_whole(texts[i], strlen(texts[i])))
			fail_msg("'%s' should go on", texts[i]);
	}
}

/* Cuts a script and compares it with its cells. */
static void check_cells(const char *script, const char *const *cells)
{
	size_t left = strlen(script);

	for (; *cells != NULL; cells++) {
		size_t size = repl_cell_size(script, left);

		assert_int_equal(size, strlen(*cells));
		assert_memory_equal(script, *cells, size);
		script += size;
		left -= size;
	}
	assert_int_equal(left, 0);
}

static void a_script_is_cut_between_statements(void **state)
{
	(void)state;
	check_cells("a = 1\n\nb = 2\n", (const char *const[]){"a = 1\n\n", "b = 2\n", NULL});
	check_cells("\n\na\n\n\n\nb", (const char *const[]){"\n\na\n\n\n\n", "b", NULL});
	check_cells("a\nb\n", (const char *const[]){"a\n", "b\n", NULL});
	check_cells("# why\n\na\n'b'\n", (const char *const[]){"# why\n\na\n", "'b'\n", NULL});
	check_cells("def f():\n    a\nf()\n",
		    (const char *const[]){"def f():\n    a\n", "f()\n", NULL});
	check_cells("", (const char *const[]){NULL});
}

static void what_belongs_together_is_not_cut(void **state)
{
	static const char *const scripts[] = {
		"def f():\n    a\n\n    return a\n",
		"if a:\n    b\n\nelse:\n    c\n",
		"try:\n    b\n\nexcept E:\n    c\n\nfinally:\n    d\n",
		"x = [\n\n1,\n\n2]\n",
		"s = '''a\n\nb\n\nc'''\n",
		"f(\n\na\n\n)\n",
		"f(\na)\n",
		"x = 1 + \\\n2\n",
		"@cached\n# why\n@other('x')\ndef f():\n    pass\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		check_cells(scripts[i], (const char *const[]){scripts[i], NULL});
	check_cells("if a:\n    b\n\nelsewhere = 1\n",
		    (const char *const[]){"if a:\n    b\n\n", "elsewhere = 1\n", NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_that_are_whole),
		cmocka_unit_test(entries_that_go_on),
		cmocka_unit_test(a_script_is_cut_between_statements),
		cmocka_unit_test(what_belongs_together_is_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
