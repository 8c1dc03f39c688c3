// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "base/log.h"
#include "daemon/daemon_state.h"
#include "policy/paths.h"

/* Makes the directory and its parents: a new home has no .local/state. */
static int make_state_dir(const char *path, struct err *err)
{
	char part[PATH_MAX];

	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(part, 0700); /* the last mkdir tells whether all worked */
		*slash = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make state_dir %s", path);
	return 0;
}

/* Checks a folder for explore. A missing folder is allowed, because explore looks again at each
 * call. Only viv-launch can see another user's folder. */
static int check_folder(const char *key, const char *path, struct err *err)
{
	struct stat info;

	if (stat(path, &info) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			log_event(LOG_LEVEL_WARNING, "explore.missing",
				  "key=%s path=%s what=explore fails until the folder exists", key,
				  path);
		return 0;
	}
	if (!S_ISDIR(info.st_mode))
		return err_set(err, ERR_BAD_REQUEST, ENOTDIR, "%s: %s is not a folder", key, path);
	return 0;
}

static int check_explore(const struct config *config, struct err *err)
{
	const struct text_list *folders = &config->explore_folders;
	int r = 0;

	if (config->explore_root[0] != '\0')
		r = check_folder("explore.root", config->explore_root, err);
	for (size_t i = 0; r == 0 && i < folders->count; i++)
		r = check_folder("explore.folders", strchr(folders->items[i], '=') + 1, err);
	return r;
}

int daemon_make_dirs(const struct config *config, struct err *err)
{
	int r = check_explore(config, err);

	if (r == 0)
		r = path_make_private(config->runtime_dir, err);
	return r < 0 ? r : make_state_dir(config->state_dir, err);
}
