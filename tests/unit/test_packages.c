// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "op/packages.h"
#include "unit.h"

#define HERE_MAX 200 /* room for a path below the scratch directory */

/* A venv of the host's python in a scratch directory. */
struct venv {
	char root[64];
	char version[32]; /* "python3.11" */
	struct runtime runtime;
	struct packages *packages;
};

static void make_dir(const struct venv *venv, const char *name)
{
	char path[2 * HERE_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", venv->root, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void install(const struct venv *venv, const char *name)
{
	char path[HERE_MAX];

	(void)snprintf(path, sizeof(path), "lib/%s/site-packages/%.90s", venv->version, name);
	make_dir(venv, path);
}

static void write_cfg(const struct venv *venv, const char *sees)
{
	char path[HERE_MAX];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/pyvenv.cfg", venv->root);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fprintf(file, "home = /usr/bin\ninclude-system-site-packages = %s\n", sees);
	assert_int_equal(fclose(file), 0);
}

static void venv_init(struct venv *venv)
{
	char real[PATH_MAX], path[HERE_MAX];

	scratch_make(venv->root);
	assert_non_null(realpath("/usr/bin/python3", real));
	(void)snprintf(venv->version, sizeof(venv->version), "%s", strrchr(real, '/') + 1);
	make_dir(venv, "bin");
	make_dir(venv, "lib");
	(void)snprintf(path, sizeof(path), "lib/%s", venv->version);
	make_dir(venv, path);
	(void)snprintf(path, sizeof(path), "lib/%s/site-packages", venv->version);
	make_dir(venv, path);
	(void)snprintf(path, sizeof(path), "%s/bin/python3", venv->root);
	assert_int_equal(symlink("/usr/bin/python3", path), 0);
	write_cfg(venv, "false");
	runtime_init(&venv->runtime, "test");
	text_set(&venv->runtime.python, venv->root);
	venv->packages = packages_new();
}

static void venv_done(struct venv *venv)
{
	packages_free(venv->packages);
	runtime_done(&venv->runtime);
	scratch_remove(venv->root);
}

static const struct package_list *list_of(struct venv *venv)
{
	const struct package_list *list = NULL;
	struct err err = {0};

	assert_ok(packages_of(venv->packages, &venv->runtime, &list, &err), err);
	return list;
}

static void names_and_versions_come_from_metadata(void **state)
{
	const struct package_list *list;
	struct venv venv;

	(void)state;
	venv_init(&venv);
	install(&venv, "zlib_ng-1.0.dist-info");
	install(&venv, "Numpy-1.24.2.dist-info");
	install(&venv, "old-0.1-py3.11.egg-info");
	install(&venv, "older-2.0.egg-info");
	install(&venv, "numpy");
	install(&venv, "nodash.dist-info");
	install(&venv, "-1.0.dist-info");
	install(&venv, "noversion-.dist-info");
	install(&venv, "dist-info");
	list = list_of(&venv);
	assert_int_equal(list->count, 4);
	assert_string_equal(list->items[0].name, "Numpy");
	assert_string_equal(list->items[0].version, "1.24.2");
	assert_string_equal(list->items[1].name, "old");
	assert_string_equal(list->items[1].version, "0.1");
	assert_string_equal(list->items[2].name, "older");
	assert_string_equal(list->items[2].version, "2.0");
	assert_string_equal(list->items[3].name, "zlib_ng");
	venv_done(&venv);
}

static void a_change_is_seen(void **state)
{
	const struct package_list *list;
	struct venv venv;

	(void)state;
	venv_init(&venv);
	install(&venv, "a-1.dist-info");
	list = list_of(&venv);
	assert_int_equal(list->count, 1);
	assert_ptr_equal(list_of(&venv), list);
	install(&venv, "b-2.dist-info");
	assert_int_equal(list_of(&venv)->count, 2);
	venv_done(&venv);
}

static void a_venv_may_see_what_its_base_has(void **state)
{
	size_t alone, both;
	struct venv venv;

	(void)state;
	venv_init(&venv);
	install(&venv, "zzz-1.dist-info");
	alone = list_of(&venv)->count;
	write_cfg(&venv, "true");
	both = list_of(&venv)->count;
	assert_int_equal(alone, 1);
	/* Debian's numpy is there: the tests of the runtimes need it. */
	assert_true(both > alone);
	venv_done(&venv);
}

static void no_interpreter_is_an_error(void **state)
{
	const struct package_list *list = NULL;
	struct err err = {0};
	struct venv venv;

	(void)state;
	venv_init(&venv);
	text_set(&venv.runtime.python, "/nonexistent/python3");
	assert_true(packages_of(venv.packages, &venv.runtime, &list, &err) < 0);
	assert_contains(err.text, "runtime test");
	venv_done(&venv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_versions_come_from_metadata),
		cmocka_unit_test(a_change_is_seen),
		cmocka_unit_test(a_venv_may_see_what_its_base_has),
		cmocka_unit_test(no_interpreter_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
