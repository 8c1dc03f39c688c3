// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "backend/remote.h"
#include "base/c.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "op/op_backends.h"

/* Logs each change when it happens, not when a run fails. */
static void remote_changed(void *user, const struct err *why)
{
	(void)user;
	if (why->kind == ERR_NONE)
		log_event(LOG_LEVEL_INFO, "backend.remote", "available=1");
	else
		log_event(LOG_LEVEL_WARNING, "backend.remote", "available=0 why=%s", why->text);
}

void daemon_open_backends(struct daemon *daemon)
{
	struct engine *engine = &daemon->engine;
	struct err err = {0};

	if (daemon->config->process_development) {
		log_event(LOG_LEVEL_WARNING, "backend.process",
			  "development=1 why=explore may run without any wall, with all rights of "
			  "this "
			  "user; never let others near this daemon");
		if (!daemon->options->is_quiet)
			(void)fprintf(
				stderr,
				"viv serve: WARNING: backends.process.development is on: "
				"explore may run commands WITHOUT ANY ISOLATION, with all rights "
				"of this user. For development only.\n");
	}
	if (remote_new(&daemon->loop, daemon->config, &engine->remote, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "backend.remote", "available=0 why=%s", err.text);
	else if (engine->remote != NULL)
		remote_watch(engine->remote, remote_changed, daemon);
}

void daemon_close_backends(struct daemon *daemon)
{
	remote_free(STEAL(daemon->engine.remote));
}

const char *daemon_active(const struct daemon *daemon)
{
	const struct backend_host host = op_host(&daemon->engine);

	return backend_active(&host, BACKEND_PYTHON);
}
