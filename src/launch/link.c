// SPDX-License-Identifier: Apache-2.0
#include "launch/link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/c.h"
#include "base/io.h"

#define WAITING_MAX 1024U

struct link_message {
	STAILQ_ENTRY(link_message) next;
	size_t size;
	size_t fd_count;
	int fds[IO_FDS_MAX]; /* owned */
	uint8_t data[];
};

static void close_fds(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		drop_fd(&fds[i]);
}

void link_init(struct link *link, int *take_fd)
{
	link->fd = steal_fd(take_fd);
	STAILQ_INIT(&link->queue);
	(void)fcntl(link->fd, F_SETFL, O_NONBLOCK);
}

void link_done(struct link *link)
{
	while (!STAILQ_EMPTY(&link->queue)) {
		struct link_message *message = STAILQ_FIRST(&link->queue);

		STAILQ_REMOVE_HEAD(&link->queue, next);
		link->waiting--;
		close_fds(message->fds, message->fd_count);
		free(message);
	}
	drop_fd(&link->fd);
}

void link_send(struct link *link, const void *data, size_t size, int *take_fds, size_t fd_count)
{
	struct link_message *message = NULL;

	if (STAILQ_EMPTY(&link->queue) &&
	    io_send_fds(link->fd, data, size, take_fds, fd_count) != -EAGAIN) {
		close_fds(take_fds, fd_count);
		return;
	}

	message = xcalloc(1, sizeof(*message) + size);
	message->size = size;
	message->fd_count = fd_count;
	memcpy(message->data, data, size);
	for (size_t i = 0; i < fd_count; i++)
		message->fds[i] = steal_fd(&take_fds[i]);
	STAILQ_INSERT_TAIL(&link->queue, message, next);
	link->waiting++;
}

bool link_is_waiting(const struct link *link)
{
	return !STAILQ_EMPTY(&link->queue);
}

bool link_is_full(const struct link *link)
{
	return link->waiting > WAITING_MAX;
}

void link_flush(struct link *link)
{
	while (!STAILQ_EMPTY(&link->queue)) {
		struct link_message *message = STAILQ_FIRST(&link->queue);

		if (io_send_fds(link->fd, message->data, message->size, message->fds,
				message->fd_count) == -EAGAIN)
			return;
		STAILQ_REMOVE_HEAD(&link->queue, next);
		link->waiting--;
		close_fds(message->fds, message->fd_count);
		free(message);
	}
}
