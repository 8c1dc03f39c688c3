// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "daemon/daemon_state.h"
#include "policy/paths.h"

/* And what is above it: a new home has no .local/state. */
static int make_state_dir(const char *path, struct err *err)
{
	char part[PATH_MAX];

	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(part, 0700); /* the last one tells whether all went well */
		*slash = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make state_dir %s", path);
	return 0;
}

int daemon_make_dirs(const struct config *config, struct err *err)
{
	int r = path_make_private(config->runtime_dir, err);

	return r < 0 ? r : make_state_dir(config->state_dir, err);
}
