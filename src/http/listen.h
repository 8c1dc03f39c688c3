// SPDX-License-Identifier: Apache-2.0
/*
 * Listen - addresses and the sockets that listen on them
 *
 * Owns:    the spelling of an address, binding, and the file of a unix socket.
 * May not: resolve names: an address is used as written, so a start never waits for DNS.
 */
#pragma once

#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "http/http.h"

struct listener {
	TAILQ_ENTRY(listener) entry;
	struct http *http; /* borrowed: owns us */
	int fd;            /* owned */
	uv_poll_t poll;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* of a file that we made, or "" */
	struct stat file;
};

/* Binds and listens. */
int listener_open(struct listener *listener, const char *address, struct buf *ret_bound,
		  struct err *err);

/* Takes over a socket that already listens; -EINVAL when it does not. */
int listener_adopt(struct listener *listener, int *take_fd, struct err *err);

/* Closes it, and removes the file of a unix socket if it is still ours. */
void listener_close(struct listener *listener);
