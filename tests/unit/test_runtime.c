// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "policy/runtime.h"
#include "unit.h"

struct table {
	struct runtime *runtimes;
	size_t count;
};

static void add(struct table *table, const char *name, const char *preload)
{
	struct runtime *runtime;

	table->runtimes = reallocarray(table->runtimes, table->count + 1, sizeof(*table->runtimes));
	assert_non_null(table->runtimes);
	runtime = &table->runtimes[table->count++];
	runtime_init(runtime, name);
	if (preload != NULL)
		text_list_add(&runtime->preload, preload);
	text_list_add(&runtime->preload, "numpy");
}

static int make(void **state)
{
	struct table *table = xnew(struct table);

	table->runtimes = runtime_built_ins(&table->count);
	*state = table;
	return 0;
}

static int end(void **state)
{
	struct table *table = *state;

	for (size_t i = 0; i < table->count; i++)
		runtime_done(&table->runtimes[i]);
	free(table->runtimes);
	free(table);
	return 0;
}

static void assert_chosen(const struct table *table, const char *code, bool has_data,
			  const char *name)
{
	const struct runtime *runtime =
		runtime_choose(table->runtimes, table->count, code, strlen(code), has_data);

	assert_non_null(runtime);
	if (strcmp(runtime->name, name) != 0)
		fail_msg("%s: %s, not %s", code, runtime->name, name);
}

static void the_smallest_that_covers_is_chosen(void **state)
{
	const struct table *table = *state;

	assert_chosen(table, "", false, "bare");
	assert_chosen(table, "print(1)", false, "bare");
	assert_chosen(table, "import os, json\nfrom collections import deque", false, "bare");
	assert_chosen(table, "import pandas as pd", false, "base");
	assert_chosen(table, "import matplotlib", false, "base");
	assert_chosen(table, "import numpy\nimport seaborn", false, "full");
	assert_chosen(table, "from PIL import Image", false, "full");
	assert_chosen(table, "import yaml", false, "full");
	assert_chosen(table, "# import pandas", false, "bare");
}

static void data_asks_for_pandas(void **state)
{
	assert_chosen(*state, "print(df)", true, "base");
	assert_chosen(*state, "import sympy", true, "full");
}

static void a_stranger_asks_for_base(void **state)
{
	assert_chosen(*state, "import torch", false, "base");
	assert_chosen(*state, "import torch, json", false, "base");
	assert_chosen(*state, "import torch, seaborn", false, "full");
}

static void a_runtime_of_the_config_is_taken_for_what_only_it_has(void **state)
{
	struct table *table = *state;

	add(table, "science", "torch.nn");
	text_list_add(&table->runtimes[3].preload, "jax");
	add(table, "small", "torch");
	assert_chosen(table, "import torch", false, "small");
	assert_chosen(table, "import torch, numpy", false, "small");
	assert_chosen(table, "import torch, jax", false, "science");
	assert_chosen(table, "import numpy", false, "base");
	assert_chosen(table, "import torch, seaborn", false, "full"); /* none has both */
}

static void the_built_ins_fit_into_a_message(void **state)
{
	const struct table *table = *state;
	char text[RUNTIME_PRELOAD_MAX + 1];

	for (size_t i = 0; i < table->count; i++) {
		const char *key = NULL;
		struct err err = {0};

		assert_ok(runtime_check(&table->runtimes[i], &key, &err), err);
	}
	runtime_preload_text(&table->runtimes[0], text);
	assert_string_equal(text, "");
	runtime_preload_text(&table->runtimes[1], text);
	assert_string_equal(text, "numpy pandas matplotlib.pyplot");
}

static void preload_names_are_modules(void **state)
{
	static const char *const wrong[] = {"",     "a b", "a;b", "-c",  ".a", "a.",
					    "a..b", "1a",  "a.1", "a\n", "a/b"};
	const char *key = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct runtime runtime;
		struct err err = {0};

		runtime_init(&runtime, "x");
		text_list_add(&runtime.preload, wrong[i]);
		assert_int_equal(runtime_check(&runtime, &key, &err), -EINVAL);
		assert_string_equal(key, "preload");
		runtime_done(&runtime);
	}
}

static void preload_names_have_a_length(void **state)
{
	struct runtime runtime;
	struct err err = {0};
	const char *key = NULL;
	char text[RUNTIME_PRELOAD_MAX + 1];

	(void)state;
	runtime_init(&runtime, "x");
	for (int i = 0; i < 64; i++)
		text_list_add(&runtime.preload, "fifteen_letters");
	assert_ok(runtime_check(&runtime, &key, &err), err);
	runtime_preload_text(&runtime, text);
	assert_int_equal(strlen(text), RUNTIME_PRELOAD_MAX);
	text_list_add(&runtime.preload, "x");
	assert_int_equal(runtime_check(&runtime, &key, &err), -EINVAL);
	runtime_done(&runtime);
}

static int layout_of(const char *python, struct runtime_layout *ret_layout, struct err *err)
{
	struct runtime runtime;
	int r;

	runtime_init(&runtime, "mine");
	text_set(&runtime.python, python);
	r = runtime_binds(&runtime, ret_layout, err);
	runtime_done(&runtime);
	return r;
}

static void put(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fchmod(fileno(file), mode), 0);
	assert_int_equal(fclose(file), 0);
}

/* A directory that looks like a venv, made from the interpreter in `home`. */
static void put_venv(const char *root, const char *home)
{
	char path[256], text[256];

	assert_int_equal(mkdir(root, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/bin", root);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/bin/python3", root);
	(void)snprintf(text, sizeof(text), "%s/python3", home);
	assert_int_equal(symlink(text, path), 0);
	(void)snprintf(path, sizeof(path), "%s/pyvenv.cfg", root);
	(void)snprintf(text, sizeof(text),
		       "\nversion = 3.11\n  HOME=  %s \ninclude-system-site-packages = false\n",
		       home);
	put(path, text, 0644);
}

static void the_systems_python_needs_nothing_but_usr(void **state)
{
	struct runtime_layout layout = {0};
	struct err err = {0};

	(void)state;
	assert_ok(layout_of("/usr/bin/python3", &layout, &err), err);
	assert_string_equal(layout.python, "/usr/bin/python3");
	assert_string_equal(layout.host, "/usr/bin/python3");
	assert_int_equal(layout.bind_count, 0);
}

static void a_venv_below_tmp_is_shown_elsewhere(void **state)
{
	struct runtime_layout layout = {0};
	struct err err = {0};
	char root[128], python[160];

	(void)snprintf(root, sizeof(root), "%s/venv", (const char *)*state);
	put_venv(root, "/usr/bin");
	(void)snprintf(python, sizeof(python), "%s/bin/python3", root);
	for (int i = 0; i < 2; i++) {
		assert_ok(layout_of(i == 0 ? root : python, &layout, &err), err);
		assert_int_equal(layout.bind_count, 1);
		assert_string_equal(layout.binds[0].source, root);
		assert_string_equal(layout.binds[0].target, "/opt/vivarium/mine");
		assert_string_equal(layout.python, "/opt/vivarium/mine/bin/python3");
		assert_string_equal(layout.host, python);
	}
}

static void a_venv_from_an_interpreter_in_tmp_is_refused(void **state)
{
	struct runtime_layout layout = {0};
	struct err err = {0};
	char root[128], home[160], path[256];

	(void)snprintf(home, sizeof(home), "%s/base", (const char *)*state);
	assert_int_equal(mkdir(home, 0755), 0);
	(void)snprintf(home, sizeof(home), "%s/base/bin", (const char *)*state);
	assert_int_equal(mkdir(home, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/python3", home);
	put(path, "an interpreter", 0755);
	(void)snprintf(root, sizeof(root), "%s/venv", (const char *)*state);
	put_venv(root, home);
	assert_int_equal(layout_of(root, &layout, &err), -EINVAL);
	assert_contains(err.text, "runtime mine: the venv was made from");

	assert_ok(layout_of(path, &layout, &err), err); /* by itself it can move */
	assert_string_equal(layout.python, "/opt/vivarium/mine/bin/python3");
}

static void what_is_no_interpreter_is_refused(void **state)
{
	struct runtime_layout layout = {0};
	struct err err = {0};
	char path[256];

	assert_int_equal(layout_of("/nowhere", &layout, &err), -ENOENT);
	assert_contains(err.text, "runtime mine: /nowhere is neither a Python interpreter");
	assert_int_equal(layout_of(*state, &layout, &err), -ENOENT);
	(void)snprintf(path, sizeof(path), "%s/python3", (const char *)*state);
	put(path, "an interpreter", 0644);
	assert_int_equal(layout_of(path, &layout, &err), -ENOENT);
	put(path, "#!/bin/sh\n", 0755);
	assert_int_equal(layout_of(path, &layout, &err), -EINVAL);
	assert_contains(err.text, "is a script");
	put(path, "an interpreter", 0755);
	assert_int_equal(layout_of(path, &layout, &err), -EINVAL);
	assert_contains(err.text, "is not in a directory bin");
}

static void a_venv_without_a_home_is_refused(void **state)
{
	struct runtime_layout layout = {0};
	struct err err = {0};
	char root[128], path[160];

	(void)snprintf(root, sizeof(root), "%s/venv", (const char *)*state);
	put_venv(root, "/usr/bin");
	(void)snprintf(path, sizeof(path), "%s/pyvenv.cfg", root);
	put(path, "home\n = /usr/bin\nhomes = /usr/bin\nhome = relative\n", 0644);
	assert_true(layout_of(root, &layout, &err) < 0);
	assert_contains(err.text, "names no home");
}

/* As if somebody put an environment right into /tmp, or their home directory. */
static void a_directory_that_holds_more_is_refused(void **state)
{
	struct runtime_layout layout = {0};
	struct err err = {0};
	char root[128];

	(void)snprintf(root, sizeof(root), "%s/venv", (const char *)*state);
	put_venv(root, "/usr/bin");
	assert_int_equal(setenv("HOME", root, 1), 0);
	assert_int_equal(layout_of(root, &layout, &err), -EINVAL);
	assert_contains(err.text, "would show too much of the host");
	assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
	assert_ok(layout_of(root, &layout, &err), err);
}

static void a_link_that_leads_out_is_refused(void **state)
{
	struct runtime_layout layout = {0};
	struct err err = {0};
	char root[128], path[160], outside[128];

	(void)snprintf(outside, sizeof(outside), "%s/outside", (const char *)*state);
	put(outside, "an interpreter", 0755);
	(void)snprintf(root, sizeof(root), "%s/venv", (const char *)*state);
	put_venv(root, "/usr/bin");
	(void)snprintf(path, sizeof(path), "%s/bin/python3", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(outside, path), 0);
	assert_int_equal(layout_of(root, &layout, &err), -EINVAL);
	assert_contains(err.text, "outside its environment");
}

static int enter(void **state)
{
	static char directory[64];

	scratch_make(directory);
	*state = directory;
	return setenv("HOME", "/nonexistent", 1);
}

static int leave(void **state)
{
	scratch_remove(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_smallest_that_covers_is_chosen, make, end),
		cmocka_unit_test_setup_teardown(data_asks_for_pandas, make, end),
		cmocka_unit_test_setup_teardown(a_stranger_asks_for_base, make, end),
		cmocka_unit_test_setup_teardown(
			a_runtime_of_the_config_is_taken_for_what_only_it_has, make, end),
		cmocka_unit_test_setup_teardown(the_built_ins_fit_into_a_message, make, end),
		cmocka_unit_test(preload_names_are_modules),
		cmocka_unit_test(preload_names_have_a_length),
		cmocka_unit_test(the_systems_python_needs_nothing_but_usr),
		cmocka_unit_test_setup_teardown(a_venv_below_tmp_is_shown_elsewhere, enter, leave),
		cmocka_unit_test_setup_teardown(a_venv_from_an_interpreter_in_tmp_is_refused, enter,
						leave),
		cmocka_unit_test_setup_teardown(what_is_no_interpreter_is_refused, enter, leave),
		cmocka_unit_test_setup_teardown(a_venv_without_a_home_is_refused, enter, leave),
		cmocka_unit_test_setup_teardown(a_directory_that_holds_more_is_refused, enter,
						leave),
		cmocka_unit_test_setup_teardown(a_link_that_leads_out_is_refused, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
