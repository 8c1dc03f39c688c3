// SPDX-License-Identifier: Apache-2.0
#include "op/packages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sys/queue.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "session/engine.h"

#define DIRS_MAX 12
#define CFG_MAX (64U << 10)
#define PACKAGES_MAX 4000U

struct site_dir {
	char path[PATH_MAX];
	struct timespec changed; /* 0: not there */
};

struct site_dirs {
	struct site_dir items[DIRS_MAX];
	size_t count;
};

struct kept {
	const struct runtime *runtime; /* borrowed */
	struct site_dirs dirs;
	struct package_list list;
	LIST_ENTRY(kept) entry;
};

struct packages {
	LIST_HEAD(, kept) all;
};

static void list_done(struct package_list *list)
{
	free(list->items);
	*list = (struct package_list){0};
}

/* ---- where ---- */

static void add_dir(struct site_dirs *dirs, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_dir(struct site_dirs *dirs, const char *format, ...)
{
	struct site_dir *dir = &dirs->items[dirs->count];
	struct stat status;
	va_list arguments;
	int n;

	if (dirs->count == DIRS_MAX)
		return;
	va_start(arguments, format);
	n = vsnprintf(dir->path, sizeof(dir->path), format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= sizeof(dir->path))
		return;
	dir->changed = stat(dir->path, &status) == 0 ? status.st_mtim : (struct timespec){0};
	dirs->count++;
}

/* `version` is "python3.11". Debian's own packages are in python3/dist-packages. */
static void add_prefix(struct site_dirs *dirs, const char *prefix, const char *version)
{
	add_dir(dirs, "%s/lib/%s/site-packages", prefix, version);
	add_dir(dirs, "%s/lib64/%s/site-packages", prefix, version);
	add_dir(dirs, "%s/local/lib/%s/dist-packages", prefix, version);
	add_dir(dirs, "%s/lib/python3/dist-packages", prefix);
	add_dir(dirs, "%s/lib/%s/dist-packages", prefix, version);
}

/* Does pyvenv.cfg also let the packages of its base be seen? False without that file. */
static bool sees_base(const char *prefix, bool *ret_is_venv)
{
	char path[PATH_MAX];
	struct err err = {0};
	bool sees = false;
	struct buf text;
	const char *at;

	buf_init(&text, CFG_MAX);
	(void)snprintf(path, sizeof(path), "%.4000s/pyvenv.cfg", prefix);
	*ret_is_venv = io_read_file(AT_FDCWD, path, &text, &err) >= 0;
	at = strcasestr(buf_string(&text), "include-system-site-packages");
	if (at != NULL) {
		at += strcspn(at, "=\n");
		at += strspn(at, "= \t");
		sees = strncasecmp(at, "true", 4) == 0;
	}
	buf_done(&text);
	return sees;
}

/* "/usr/bin/python3.11" -> "/usr" and "python3.11". */
static bool split_interpreter(const char *path, char ret_prefix[PATH_MAX], const char **ret_name)
{
	const char *name = strrchr(path, '/');
	char *slash;

	(void)snprintf(ret_prefix, PATH_MAX, "%.*s", (int)(name - path), path);
	slash = strrchr(ret_prefix, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	*ret_name = name + 1;
	return true;
}

static int find_dirs(const struct runtime *runtime, struct site_dirs *ret_dirs, struct err *err)
{
	char real[PATH_MAX], prefix[PATH_MAX], base[PATH_MAX];
	struct runtime_layout layout;
	const char *name, *version;
	bool is_venv = false, sees;
	int r = runtime_binds(runtime, &layout, err);

	if (r < 0)
		return r;
	if (realpath(layout.host, real) == NULL)
		return err_sys(err, "runtime %s", runtime->name);
	if (!split_interpreter(layout.host, prefix, &name) ||
	    !split_interpreter(real, base, &version))
		return err_set(err, ERR_UNSUPPORTED, EINVAL, "runtime %s: no prefix is known",
			       runtime->name);

	ret_dirs->count = 0;
	sees = sees_base(prefix, &is_venv);
	if (is_venv)
		add_prefix(ret_dirs, prefix, version);
	if (sees || !is_venv)
		add_prefix(ret_dirs, base, version);
	return 0;
}

/* ---- what ---- */

static bool has(const struct package_list *list, const char *name, size_t size)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strncasecmp(list->items[i].name, name, size) == 0 &&
		    list->items[i].name[size] == '\0')
			return true;
	}
	return false;
}

/* "numpy-1.24.2.dist-info", "Jinja2-3.1.2.egg-info", "x-1.0-py3.11.egg-info": a name has no dash.
 */
static void add_entry(struct package_list *list, const char *entry)
{
	size_t size = strlen(entry);
	const char *dash = strchr(entry, '-');
	const char *version = dash != NULL ? dash + 1 : NULL;
	size_t ending = strlen(".dist-info");
	struct package *items;
	size_t n;

	if (size > ending && strcmp(entry + size - ending, ".dist-info") != 0)
		ending = strlen(".egg-info");
	if (size <= ending || (strcmp(entry + size - ending, ".dist-info") != 0 &&
			       strcmp(entry + size - ending, ".egg-info") != 0))
		return;
	if (version == NULL || dash == entry || version >= entry + size - ending)
		return;
	n = strcspn(version, "-");
	if (version + n > entry + size - ending)
		n = (size_t)(entry + size - ending - version);
	if (list->count == PACKAGES_MAX || has(list, entry, (size_t)(dash - entry)))
		return;

	items = reallocarray(list->items, list->count + 1, sizeof(*items));
	if (items == NULL)
		abort();
	list->items = items;
	(void)snprintf(items[list->count].name, sizeof(items->name), "%.*s", (int)(dash - entry),
		       entry);
	(void)snprintf(items[list->count].version, sizeof(items->version), "%.*s", (int)n, version);
	list->count++;
}

static int by_name(const void *a, const void *b)
{
	return strcasecmp(((const struct package *)a)->name, ((const struct package *)b)->name);
}

static void read_dirs(const struct site_dirs *dirs, struct package_list *list)
{
	for (size_t i = 0; i < dirs->count; i++) {
		DIR *dir = opendir(dirs->items[i].path);
		const struct dirent *entry;

		if (dir == NULL)
			continue;
		while ((entry = readdir(dir)) != NULL)
			add_entry(list, entry->d_name);
		(void)closedir(dir);
	}
	if (list->count > 0)
		qsort(list->items, list->count, sizeof(*list->items), by_name);
}

/* ---- kept ---- */

static bool is_same(const struct site_dirs *a, const struct site_dirs *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->items[i].path, b->items[i].path) == 0 &&
		       a->items[i].changed.tv_sec == b->items[i].changed.tv_sec &&
		       a->items[i].changed.tv_nsec == b->items[i].changed.tv_nsec;
	return same;
}

struct packages *packages_new(void)
{
	struct packages *packages = xnew(struct packages);

	LIST_INIT(&packages->all);
	return packages;
}

void packages_free(struct packages *packages)
{
	if (packages == NULL)
		return;
	while (!LIST_EMPTY(&packages->all)) {
		struct kept *kept = LIST_FIRST(&packages->all);

		LIST_REMOVE(kept, entry);
		list_done(&kept->list);
		free(kept);
	}
	free(packages);
}

int packages_of(struct packages *packages, const struct runtime *runtime,
		const struct package_list **ret_list, struct err *err)
{
	struct site_dirs *dirs = xnew(struct site_dirs);
	struct kept *kept;
	int r = find_dirs(runtime, dirs, err);

	LIST_FOREACH(kept, &packages->all, entry) {
		if (kept->runtime == runtime)
			break;
	}
	if (r == 0 && kept == NULL) {
		kept = xnew(struct kept);
		kept->runtime = runtime;
		LIST_INSERT_HEAD(&packages->all, kept, entry);
	}
	if (r == 0 && !is_same(&kept->dirs, dirs)) {
		list_done(&kept->list);
		kept->dirs = *dirs;
		read_dirs(dirs, &kept->list);
	}
	free(dirs);
	if (r == 0)
		*ret_list = &kept->list;
	return r;
}

int packages_find(const struct engine *engine, const char *name,
		  const struct package_list **ret_list, struct err *err)
{
	const struct runtime *runtime =
		config_runtime(engine->config, name != NULL ? name : PACKAGES_OF, err);

	if (runtime == NULL)
		return err_blame(err, "runtime");
	return packages_of(engine->packages, runtime, ret_list, err);
}

int packages_put(const struct package_list *list, struct buf *buf)
{
	buf_text(buf, "[");
	for (size_t i = 0; i < list->count; i++) {
		buf_text(buf, i > 0 ? ",{\"name\":" : "{\"name\":");
		json_put_text(buf, list->items[i].name);
		buf_text(buf, ",\"version\":");
		json_put_text(buf, list->items[i].version);
		buf_text(buf, "}");
	}
	buf_text(buf, "]");
	return buf->failed;
}
