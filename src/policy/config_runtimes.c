// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/io.h"
#include "policy/config_parts.h"
#include "policy/paths.h"

#define RUNTIME_FILE_MAX (64U << 10)
#define SUFFIX ".yaml"

/* The runtime of this name, made if it does not exist yet; NULL when that is not possible. */
static struct runtime *want_runtime(struct config *config, const char *name, struct err *err)
{
	struct runtime *runtimes;

	if (!name_is_valid(name) || strcmp(name, "auto") == 0) {
		(void)err_set(err, ERR_BAD_REQUEST, EINVAL,
			      "%.80s cannot name a runtime; " NAME_RULE, name);
		return NULL;
	}
	for (size_t i = 0; i < config->runtime_count; i++) {
		if (strcmp(config->runtimes[i].name, name) == 0)
			return &config->runtimes[i];
	}
	if (config->runtime_count == RUNTIME_COUNT_MAX) {
		(void)err_set(err, ERR_BAD_REQUEST, EINVAL, "more than %d runtimes",
			      RUNTIME_COUNT_MAX);
		return NULL;
	}

	runtimes = reallocarray(config->runtimes, config->runtime_count + 1, sizeof(*runtimes));
	if (runtimes == NULL)
		abort();
	config->runtimes = runtimes;
	runtime_init(&runtimes[config->runtime_count], name);
	return &runtimes[config->runtime_count++];
}

static int take_runtime(struct config *config, const struct document *document, size_t section,
			size_t entry, const char *name, struct err *err)
{
	struct runtime *runtime = want_runtime(config, name, err);
	const char *key = NULL;
	int r;

	if (runtime == NULL)
		return document_blame(document, section, entry, NULL, err);
	r = document_apply(document, section, entry, runtime, err);
	if (r < 0)
		return r;
	if (runtime_check(runtime, &key, err) < 0)
		return document_blame(document, section, entry, key, err);

	text_set(&runtime->source, document_file(document));
	return 0;
}

int config_take_runtimes(struct config *config, const struct document *document, struct err *err)
{
	for (size_t i = 0; i < document_count(document, CONFIG_RUNTIMES); i++) {
		int r = take_runtime(config, document, CONFIG_RUNTIMES, i,
				     document_name(document, CONFIG_RUNTIMES, i), err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads one file: the keys of one runtime, which is named after the file. */
static int take_file(struct config *config, const char *directory, const char *name,
		     struct err *err)
{
	const struct section section = {.key = "",
					.kind = SECTION_TOP,
					.rows = runtime_rows,
					.row_count = runtime_row_count};
	char path[PATHS_MAX], runtime[NAME_MAX + 1];
	struct document *document = NULL;
	AUTO_BUF struct buf text = {.max = RUNTIME_FILE_MAX};
	int r;

	r = snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (r < 0 || (size_t)r >= sizeof(path))
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "%s: the path is too long",
			       name);
	(void)snprintf(runtime, sizeof(runtime), "%s", name);
	runtime[strlen(runtime) - strlen(SUFFIX)] = '\0';

	r = io_read_file(AT_FDCWD, path, &text, err);
	if (r >= 0)
		r = document_load(text.data, text.size, path, &section, 1, &document, err);
	if (r >= 0)
		r = take_runtime(config, document, 0, 0, runtime, err);
	document_free(document);
	return r < 0 ? r : 0;
}

static int is_runtime_file(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return entry->d_name[0] != '.' && size > strlen(SUFFIX) &&
	       strcmp(entry->d_name + size - strlen(SUFFIX), SUFFIX) == 0;
}

static int take_directory(struct config *config, const char *config_dir, struct err *err)
{
	struct dirent **entries = NULL;
	char directory[PATHS_MAX];
	int r = 0;
	int count;

	count = snprintf(directory, sizeof(directory), "%s/" RUNTIMES_D, config_dir);
	if (count < 0 || (size_t)count >= sizeof(directory))
		return 0;

	/* No such directory, or no permission to read it: no runtimes are stored for us there. */
	count = scandir(directory, &entries, is_runtime_file, alphasort);
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = take_file(config, directory, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int config_take_stored(struct config *config, struct err *err)
{
	char user[PATHS_MAX];
	int r;

	r = take_directory(config, PATH_SYSTEM_CONFIG, err);
	if (r < 0)
		return r;
	if (!path_user_config(user, sizeof(user)) || strcmp(user, PATH_SYSTEM_CONFIG) == 0)
		return 0;
	return take_directory(config, user, err);
}
