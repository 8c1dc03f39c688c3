// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "policy/paths.h"
#include "policy/policy.h"
#include "policy/runtime.h"

#define FILE_MAX (64U << 10)

/* The path of a stored runtime's file; its directory ends at *ret_directory_size. */
static int store_path(const char *name, char ret_path[RUNTIME_PATH_MAX], size_t *ret_directory_size,
		      struct err *err)
{
	char config[PATHS_MAX];
	int n;

	if (!name_is_valid(name) || strcmp(name, "auto") == 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "%.80s cannot name a runtime; " NAME_RULE, name);
	if (!path_own_config(config, sizeof(config)))
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "no place to keep it: set HOME or XDG_CONFIG_HOME");
	n = snprintf(ret_path, RUNTIME_PATH_MAX, "%s/" RUNTIMES_D "/%s.yaml", config, name);
	if (n < 0 || n >= RUNTIME_PATH_MAX)
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "%s: the path is too long",
			       config);
	*ret_directory_size = strlen(config) + strlen("/" RUNTIMES_D);
	return 0;
}

/* Makes every directory of the path up to `size`. */
static int make_directories(const char *path, size_t size, struct err *err)
{
	char directory[RUNTIME_PATH_MAX];

	for (size_t i = 1; i <= size; i++) {
		if (i < size && path[i] != '/')
			continue;
		(void)snprintf(directory, sizeof(directory), "%.*s", (int)i, path);
		if (mkdir(directory, 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make %s", directory);
	}
	return 0;
}

/* Writes the rows as YAML: JSON's strings and lists are valid YAML. */
static int write_rows(const struct runtime *runtime, struct buf *text)
{
	buf_text(text, "python: ");
	json_put_text(text, runtime->python);
	buf_text(text, "\npreload: [");
	for (size_t i = 0; i < runtime->preload.count; i++) {
		buf_text(text, i > 0 ? ", " : "");
		json_put_text(text, runtime->preload.items[i]);
	}
	buf_format(text, "]\npool: %llu\n", (unsigned long long)runtime->pool);
	if (runtime->requirements[0] != '\0') {
		buf_text(text, "requirements: ");
		json_put_text(text, runtime->requirements);
		buf_text(text, "\n");
	}
	return text->failed;
}

/* Writes a temporary file and renames it: a reader sees the old file or the new one. */
static int replace_file(const char *path, const struct buf *text, struct err *err)
{
	char draft[RUNTIME_PATH_MAX + sizeof(".XXXXXX")];
	AUTO_CLOSE int fd = -1;
	int r;

	(void)snprintf(draft, sizeof(draft), "%s.XXXXXX", path);
	fd = mkostemp(draft, O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "make %s", draft);
	r = io_write_all(fd, text->data, text->size, err);
	if (r == 0 && fchmod(fd, 0644) < 0)
		r = err_sys(err, "mode of %s", draft);
	if (r == 0 && rename(draft, path) < 0)
		r = err_sys(err, "rename to %s", path);
	if (r < 0)
		(void)unlink(draft);
	return r;
}

int runtime_save(const struct runtime *runtime, char ret_path[RUNTIME_PATH_MAX], struct err *err)
{
	char path[RUNTIME_PATH_MAX];
	const char *key = NULL;
	size_t directory_size = 0;
	AUTO_BUF struct buf text = {.max = FILE_MAX};
	int r;

	r = store_path(runtime->name, path, &directory_size, err);
	if (r == 0)
		r = runtime_check(runtime, &key, err);
	if (r == 0)
		r = make_directories(path, directory_size, err);
	if (r < 0)
		return r;

	r = write_rows(runtime, &text);
	r = r < 0 ? err_set(err, ERR_TOO_LARGE, -r, "runtime %s is too large", runtime->name)
		  : replace_file(path, &text, err);
	if (r == 0 && ret_path != NULL)
		(void)snprintf(ret_path, RUNTIME_PATH_MAX, "%s", path);
	return r;
}

int runtime_remove(const char *name, char ret_path[RUNTIME_PATH_MAX], struct err *err)
{
	char path[RUNTIME_PATH_MAX];
	size_t directory_size = 0;
	int r;

	r = store_path(name, path, &directory_size, err);
	if (r < 0)
		return r;
	if (unlink(path) < 0)
		return errno == ENOENT ? err_set(err, ERR_NOT_FOUND, ENOENT,
						 "there is no stored runtime %s (%s)", name, path)
				       : err_sys(err, "remove %s", path);
	if (ret_path != NULL)
		(void)snprintf(ret_path, RUNTIME_PATH_MAX, "%s", path);
	return 0;
}
