// SPDX-License-Identifier: Apache-2.0
/*
 * Channel - viv's end of the stream socket to a sandbox
 *
 * Owns:    the socket, the pieces of an incomplete payload, and the bytes that the socket has not
 *          taken yet. A frame stays in the socket until it has been delivered: if viv dies before,
 *          the next viv finds it there, and knows by its counter whether it was already handled.
 * May not: look into a frame. Descriptors sent from inside are dropped by the kernel, never
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
	/* One whole payload, valid during the call. The callee may close the channel. The header is
	 * that of the last piece, with the total size. */
	void (*frame)(void *user, const struct frame *frame);

	/* The last call: end of file (why->kind is ERR_NONE), or bytes that are not a frame. */
	void (*ended)(void *user, const struct err *why);

	/* Each piece as it arrives, including the last one, before `frame` and before the piece is
	 * removed from the socket. The callee may close the channel. NULL: not wanted. */
	void (*piece)(void *user, const struct frame *piece);

	/* No long payload is expected: pieces are dropped instead of joined. */
	bool drops_pieces;
};

struct channel_message;

struct channel {
	int fd; /* owned; -1: closed */
	uv_poll_t poll;
	uv_timer_t timer;                  /* polls for the rest of a frame */
	const struct channel_calls *calls; /* borrowed: static rows */
	void *user;                        /* borrowed until the next channel_listen */
	uv_close_cb closed;                /* from channel_close */

	uint32_t counter;   /* of the last frame delivered; the next viv sets it before it reads */
	uint32_t repeats;   /* frames that were received twice */
	bool is_taken_over; /* the next frame may have any later counter */
	struct buf whole;   /* pieces so far */
	struct frame_header first;
	pid_t sender; /* of the last frame, once channel_want_sender was called */

	STAILQ_HEAD(, channel_message) out;
	size_t out_count;
	uint64_t wait_ms;
	bool wants_sender;
	bool is_reading;
	bool is_waiting; /* for the rest of a frame: the timer polls */
	bool is_hung_up; /* the other side is gone after half a frame */
	bool is_paused;
	bool is_ended;
};

/* Takes the socket and watches it. On failure the socket is closed. */
int channel_open(struct channel *channel, uv_loop_t *loop, int *take_fd,
		 const struct channel_calls *calls, void *user, struct err *err);

/* Sets who is called from now on. */
void channel_listen(struct channel *channel, const struct channel_calls *calls, void *user);

/* Continues the channel of the previous viv, which had taken the frames up to `counter`, and these
 * pieces of a payload of that type and nonce (NULL: none). */
int channel_take_over(struct channel *channel, uint32_t counter, uint16_t type, uint64_t nonce,
		      const struct buf *pieces);

/* From now on channel->sender is the pid, in our pid namespace, of the process that sent a frame.
 * To be called before the other end is handed out. */
int channel_want_sender(struct channel *channel, struct err *err);

/* Sends the bytes, with a descriptor if *take_fd is not -1 (take_fd may be NULL). Bytes that the
 * socket does not take at once are sent later. Consumes both. */
int channel_send(struct channel *channel, struct buf *take_bytes, int *take_fd, struct err *err);

/* The same with up to CHANNEL_FDS_MAX descriptors, in this order; those that are -1 are left
 * out. */
int channel_send_fds(struct channel *channel, struct buf *take_bytes, int *take_fds, size_t count,
		     struct err *err);

/* Delivers the frames that have already arrived, unless the channel is paused. */
void channel_read(struct channel *channel);

/* Leaves further frames in the socket, so that their sender waits, until channel_resume. A frame
 * that was already read is still delivered. */
void channel_pause(struct channel *channel);
void channel_resume(struct channel *channel);

/* No call comes after this. `closed` is called with channel->poll when the channel's memory may be
 * freed; it may be NULL if the channel was never opened. */
void channel_close(struct channel *channel, uv_close_cb closed);
