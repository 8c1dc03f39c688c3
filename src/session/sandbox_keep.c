// SPDX-License-Identifier: Apache-2.0
/* What a session asks of the box that it sits in. One that cannot is told of by its row (box.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "session/sandbox.h"

static int cannot(const char *what, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP, "the backend cannot %s", what);
}

int sandbox_keep(struct sandbox *sandbox, const char *name, struct err *err)
{
	struct box *box = sandbox->box;
	const int fds[SANDBOX_KEPT_COUNT] = {
		sandbox->channel.fd, sandbox->out.fd,    sandbox->err.fd,
		sandbox->out.spool,  sandbox->err.spool, sandbox->in,
	};
	char copy[BOX_NAME_MAX];

	if (box == NULL || box->impl->keep == NULL)
		return 0;
	(void)snprintf(copy, sizeof(copy), "%s", name);
	memcpy(sandbox->kept_name, copy, sizeof(copy));
	return box->impl->keep(box, copy, fds,
			       sandbox->in >= 0 ? SANDBOX_KEPT_COUNT : SANDBOX_KEPT_IN, err);
}

int sandbox_keep_stdin(struct sandbox *sandbox, int fd, struct err *err)
{
	drop_fd(&sandbox->in);
	if (sandbox->kept_name[0] == '\0')
		return 0;
	if (fd >= 0)
		sandbox->in = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return sandbox_keep(sandbox, sandbox->kept_name, err);
}

int sandbox_meter(struct sandbox *sandbox, struct err *err)
{
	struct box *box = sandbox->box;

	return box != NULL && box->impl->meter != NULL ? box->impl->meter(box, err) : 0;
}

int sandbox_sweep(struct sandbox *sandbox, bool kills,
		  void (*swept)(void *user, struct sandbox *sandbox, uint64_t left), void *user,
		  struct err *err)
{
	struct box *box = sandbox->box;
	int r;

	if (box == NULL || box->impl->sweep == NULL)
		return cannot("tell what runs have left", err);
	if (sandbox->swept != NULL)
		return err_set(err, ERR_BUSY, EBUSY, "it is being swept");
	r = box->impl->sweep(box, kills, err);
	if (r < 0)
		return r;
	sandbox->swept = swept;
	sandbox->sweeper = user;
	return 0;
}

int sandbox_freeze(struct sandbox *sandbox, bool is_on,
		   void (*frozen)(void *taker, const struct err *why), void *taker, struct err *err)
{
	struct box *box = sandbox->box;

	if (box == NULL || box->impl->freeze == NULL)
		return cannot("freeze", err);
	sandbox->frozen = frozen;
	sandbox->taker = taker;
	return box->impl->freeze(box, is_on, err);
}

void sandbox_drop_head(struct sandbox *sandbox, uint32_t number)
{
	struct box *box = sandbox->box;
	struct err err = {0};

	if (number >= BOX_HEADS_MAX || box == NULL || box->impl->drop_head == NULL)
		return;
	sandbox->head_bits |= 1U << number; /* its number is free when its end was told */
	(void)box->impl->drop_head(box, number, &err);
}
