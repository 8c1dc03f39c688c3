// SPDX-License-Identifier: Apache-2.0
/*
 * Channel - viv's end of the stream socket to a sandbox
 *
 * Owns:    the socket, the pieces of a payload that is not whole yet, and what the socket has not
 *          taken. A frame stays in the socket until it has been delivered: whoever dies on the way
 *          leaves it there for a successor, who knows by its counter whether he has seen it.
 * May not: look into a frame. A descriptor sent from inside is dropped by the kernel, never
 *          received.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <sys/queue.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "proto/frame.h"

#define CHANNEL_FDS_MAX 3

struct channel_calls {
	/* One whole payload; it is valid during the call, which may close the channel. The header
	 * is that of its last piece, with the size of all. */
	void (*frame)(void *user, const struct frame *frame);

	/* The last call: end of file (why->kind is ERR_NONE), or bytes that are no frames. */
	void (*ended)(void *user, const struct err *why);

	/* Each piece as it came, the last one too, before `frame` and before it is taken off the
	 * socket; may close the channel. NULL: nobody keeps them. */
	void (*piece)(void *user, const struct frame *piece);

	/* Nothing long is expected: pieces are not put together, but dropped. */
	bool drops_pieces;
};

struct channel_message;

struct channel {
	int fd; /* owned; -1: closed */
	uv_poll_t poll;
	uv_timer_t timer;                  /* looks again for the rest of a frame */
	const struct channel_calls *calls; /* borrowed: static rows */
	void *user;                        /* borrowed until channel_listen says otherwise */
	uv_close_cb closed;                /* of channel_close */

	uint32_t counter;   /* of the last frame delivered; a successor sets it before it reads */
	uint32_t repeats;   /* frames that came again */
	bool is_taken_over; /* the next frame may have any later counter */
	struct buf whole;   /* pieces so far */
	struct frame_header first;
	pid_t sender; /* of the last frame, once channel_want_sender was called */

	STAILQ_HEAD(, channel_message) out;
	size_t out_count;
	uint64_t wait_ms;
	bool wants_sender;
	bool is_reading;
	bool is_waiting; /* for the rest of a frame: the timer looks for it */
	bool is_hung_up; /* the other side is gone, with half a frame said */
	bool is_paused;
	bool is_ended;
};

/* Takes the socket and watches it. On failure the socket is closed. */
int channel_open(struct channel *channel, uv_loop_t *loop, int *take_fd,
		 const struct channel_calls *calls, void *user, struct err *err);

/* Somebody else is told from now on. */
void channel_listen(struct channel *channel, const struct channel_calls *calls, void *user);

/* A successor goes on where another left: frames up to `counter` were taken, and these pieces of a
 * payload of that type and nonce (NULL: none). */
int channel_take_over(struct channel *channel, uint32_t counter, uint16_t type, uint64_t nonce,
		      const struct buf *pieces);

/* From now on channel->sender tells the process that sent a frame, as our pid namespace counts. To
 * be called before the other end is handed out. */
int channel_want_sender(struct channel *channel, struct err *err);

/* Sends the bytes, with a descriptor where *take_fd is not -1 (take_fd may be NULL). What the
 * socket does not take at once follows when it can. Consumes both. */
int channel_send(struct channel *channel, struct buf *take_bytes, int *take_fd, struct err *err);

/* The same with up to CHANNEL_FDS_MAX descriptors, in their order; those that are -1 are left out.
 */
int channel_send_fds(struct channel *channel, struct buf *take_bytes, int *take_fds, size_t count,
		     struct err *err);

/* Frames that are there already are delivered now, unless it is paused. */
void channel_read(struct channel *channel);

/* What comes stays in the socket, and its sender waits, until channel_resume. What was read already
 * is still delivered. */
void channel_pause(struct channel *channel);
void channel_resume(struct channel *channel);

/* No call comes after this. `closed` is called with channel->poll when the channel's memory may go;
 * it may be NULL where the channel was never opened. */
void channel_close(struct channel *channel, uv_close_cb closed);
