// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/c.h"

static int probe(const struct backend_host *host, struct err *err)
{
	const struct launch_hello *hello = host->hello;

	if (host->launch_why != NULL)
		return err_set(err, ERR_UNSUPPORTED, ENOTCONN, "%s", host->launch_why->text);
	if (hello == NULL)
		return 0; /* whoever takes a sandbox waits for it */
	if (hello->version != LAUNCH_VERSION)
		return err_set(err, ERR_UNSUPPORTED, EPROTO,
			       "viv-launch speaks version %u, viv %u: install both from one build",
			       hello->version, LAUNCH_VERSION);
	if (hello->landlock_abi == 0)
		return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP,
			       "landlock is off on this kernel; boot with lsm=landlock,...");
	return 0;
}

static int start(struct launcher *launcher, const struct backend_start *start_this, struct err *err)
{
	struct launch_request request = {
		.type = LAUNCH_SPAWN,
		.spawn =
			{
				.sandbox = start_this->sandbox,
				.root = start_this->root,
				.zygote = start_this->zygote,
				.plan = start_this->plan,
			},
	};

	if (start_this->zygote < 0) {
		if (strlen(start_this->python) >= sizeof(request.spawn.python))
			return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG,
				       "the interpreter's path is too long");
		(void)snprintf(request.spawn.python, sizeof(request.spawn.python), "%s",
			       start_this->python);
	}
	return launcher_send(launcher, &request, start_this->fds, BACKEND_FD_COUNT, err);
}

static int kill_sandbox(struct launcher *launcher, uint32_t sandbox, struct err *err)
{
	const struct launch_request request = {.type = LAUNCH_KILL, .id = sandbox};

	return launcher_send(launcher, &request, NULL, 0, err);
}

const struct backend backend_namespace = {
	.name = "namespace",
	.priority = 75,
	.isolation = "kernel namespaces, landlock, seccomp",
	.uses = 1U << BACKEND_PYTHON | 1U << BACKEND_COMMAND | 1U << BACKEND_SESSION |
		1U << BACKEND_EXPLORE,
	.not_for = "it sees folders of this host alone",
	.remedy = "`viv doctor` names what this host lacks and the command that turns it on",
	.probe = probe,
	.start = start,
	.kill = kill_sandbox,
};
