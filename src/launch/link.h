// SPDX-License-Identifier: Apache-2.0
/*
 * Link - one end of a SEQPACKET socket that never blocks its owner
 *
 * Owns:    the socket, and messages that did not fit yet, with their descriptors.
 * May not: drop or reorder a message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>

struct link_message;

struct link {
	int fd;           /* owned, non-blocking */
	bool is_watched;  /* registered with its owner's epoll */
	uint32_t watched; /* ... for these events */
	size_t waiting;   /* messages in the queue */
	STAILQ_HEAD(link_queue, link_message) queue;
};

void link_init(struct link *link, int *take_fd);
void link_done(struct link *link);

/* Sends or queues; closes the descriptors either way. Returns nothing: the end of a peer shows as
 * end of file on the reading side. */
void link_send(struct link *link, const void *data, size_t size, int *take_fds, size_t fd_count);

/* Are messages waiting for the socket to take more? Then ask epoll for EPOLLOUT and flush. */
bool link_is_waiting(const struct link *link);

/* Has the peer left so much unread that its requests should not be read for now? */
bool link_is_full(const struct link *link);
void link_flush(struct link *link);
