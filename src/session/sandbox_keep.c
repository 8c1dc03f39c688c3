// SPDX-License-Identifier: Apache-2.0
/* What launch does for a sandbox that a session has: keeps it for the next viv, ends what was left
 * running in it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/c.h"
#include "session/sandbox.h"

int sandbox_keep(struct sandbox *sandbox, const char *name, struct err *err)
{
	struct launch_request request = {.type = LAUNCH_KEEP, .keep = {.sandbox = sandbox->id}};
	const int fds[SANDBOX_KEPT_COUNT] = {
		sandbox->channel.fd, sandbox->out.fd,    sandbox->err.fd,
		sandbox->out.spool,  sandbox->err.spool, sandbox->in,
	};

	(void)snprintf(request.keep.name, sizeof(request.keep.name), "%s", name);
	memcpy(sandbox->kept_name, request.keep.name, sizeof(sandbox->kept_name));
	return launcher_send(sandbox->launcher, &request, fds,
			     sandbox->in >= 0 ? SANDBOX_KEPT_COUNT : SANDBOX_KEPT_IN, err);
}

int sandbox_keep_stdin(struct sandbox *sandbox, int fd, struct err *err)
{
	char name[LAUNCH_NAME_MAX];

	drop_fd(&sandbox->in);
	if (sandbox->kept_name[0] == '\0')
		return 0;
	if (fd >= 0)
		sandbox->in = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	memcpy(name, sandbox->kept_name, sizeof(name));
	return sandbox_keep(sandbox, name, err);
}

int sandbox_sweep(struct sandbox *sandbox, bool kills,
		  void (*swept)(void *user, struct sandbox *sandbox, uint64_t left), void *user,
		  struct err *err)
{
	const struct launch_request request = {
		.type = LAUNCH_SWEEP,
		.ref = {.sandbox = sandbox->id, .head = kills ? 1 : 0},
	};
	int r;

	if (sandbox->swept != NULL)
		return err_set(err, ERR_BUSY, EBUSY, "it is being swept");
	r = launcher_send(sandbox->launcher, &request, NULL, 0, err);
	if (r < 0)
		return r;
	sandbox->swept = swept;
	sandbox->sweeper = user;
	return 0;
}

void sandbox_swept(struct sandbox *sandbox, const struct launch_event *event)
{
	void (*swept)(void *user, struct sandbox *sandbox, uint64_t left) = STEAL(sandbox->swept);

	if (swept != NULL)
		swept(sandbox->sweeper, sandbox, event->head.left);
}
