// SPDX-License-Identifier: Apache-2.0
/*
 * Channel - viv's end of the stream socket to a sandbox
 *
 * Owns:    the socket, the bytes of a frame that is not whole yet, and what the socket has not
 * taken. May not: look into a frame. A descriptor sent from inside is dropped by the kernel, never
 * received.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "proto/frame.h"

struct channel_calls {
	/* One whole frame; its payload is valid during the call, which may close the channel. */
	void (*frame)(void *user, const struct frame *frame);

	/* The last call: end of file (why->kind is ERR_NONE), or bytes that are no frames. */
	void (*ended)(void *user, const struct err *why);
};

struct channel_message;

struct channel {
	int fd; /* owned; -1: closed */
	uv_poll_t poll;
	const struct channel_calls *calls; /* borrowed: static rows */
	void *user;                        /* borrowed until channel_listen says otherwise */
	struct buf in;
	STAILQ_HEAD(, channel_message) out;
	bool is_ended;
};

/* Takes the socket and watches it. On failure the socket is closed. */
int channel_open(struct channel *channel, uv_loop_t *loop, int *take_fd,
		 const struct channel_calls *calls, void *user, struct err *err);

/* Somebody else is told from now on. */
void channel_listen(struct channel *channel, const struct channel_calls *calls, void *user);

/* Sends the bytes, with a descriptor where *take_fd is not -1 (take_fd may be NULL). What the
 * socket does not take at once follows when it can. Consumes both. */
int channel_send(struct channel *channel, struct buf *take_bytes, int *take_fd, struct err *err);

/* Frames that are there already are delivered now. */
void channel_read(struct channel *channel);

/* No call comes after this. `closed` is for the handle channel->poll; it may be NULL where the
 * channel was never opened. */
void channel_close(struct channel *channel, uv_close_cb closed);
