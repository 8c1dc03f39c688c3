// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "policy/config.h"
#include "policy/paths.h"
#include "policy/runtime.h"

#define UNIX_PREFIX "unix:"

/* Refuses without the path: a client may see this message, and knows folders only by name. */
static int refuse(const char *what, struct err *err)
{
	return err_set(err, ERR_FORBIDDEN, EPERM,
		       "a folder that would be shown holds %s: code that runs there could reach "
		       "the daemon; show a folder beside it",
		       what);
}

static int check_folder(const struct config *config, const char *folder, struct err *err)
{
	if (path_holds(folder, config->state_dir))
		return refuse("state_dir", err);
	if (path_holds(folder, config->runtime_dir))
		return refuse("runtime_dir", err);
	for (size_t i = 0; i < config->listen.count; i++) {
		const char *address = config->listen.items[i];

		if (strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0 &&
		    path_holds(folder, address + strlen(UNIX_PREFIX)))
			return refuse("a socket of `listen`", err);
	}
	return 0;
}

int config_check_shown(const struct config *config, const struct runtime *runtime, const char *data,
		       struct err *err)
{
	struct runtime_layout layout = {0};
	int r = runtime_binds(runtime, &layout, err);

	for (size_t i = 0; r == 0 && i < layout.bind_count; i++)
		r = check_folder(config, layout.binds[i].source, err);
	if (r == 0 && data != NULL && data[0] != '\0')
		r = check_folder(config, data, err);
	return r;
}
