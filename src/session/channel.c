// SPDX-License-Identifier: Apache-2.0
#include "session/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include "base/c.h"
#include "base/io.h"

#define READ_FIRST 4096U         /* an idle sandbox holds no more than this */
#define READ_STEP (64U << 10)    /* once it talks */
#define READ_LARGE (256U << 10)  /* in the middle of a large frame */
#define READ_PER_TURN (4U << 20) /* then the loop looks at others, too */
#define IN_MAX (FRAME_PAYLOAD_MAX + sizeof(struct frame_header) + READ_STEP)

struct channel_message {
	struct buf bytes; /* owned */
	size_t sent;
	int fd; /* owned until the first byte is sent; -1: none */
	STAILQ_ENTRY(channel_message) entry;
};

static void message_free(struct channel_message *message)
{
	buf_done(&message->bytes);
	drop_fd(&message->fd);
	free(message);
}

static void end(struct channel *channel, const struct err *why)
{
	if (channel->is_ended)
		return;
	channel->is_ended = true;
	(void)uv_poll_stop(&channel->poll);
	channel->calls->ended(channel->user, why);
}

/* Returns false when the channel is no more, or has said nonsense. */
static bool deliver(struct channel *channel)
{
	struct err why = {0};
	size_t used = 0;

	for (;;) {
		struct frame frame;
		int64_t n = frame_decode(channel->in.data + used, channel->in.size - used, &frame,
					 &why);

		if (n < 0) {
			end(channel, &why);
			return false;
		}
		if (n == 0)
			break;

		used += (size_t)n;
		channel->calls->frame(channel->user, &frame);
		if (channel->fd < 0 || channel->is_ended)
			return false;
	}
	buf_consume(&channel->in, used);
	return true;
}

/* How much to ask for: the rest of a frame whose header is there, or a step. */
static size_t room_wanted(const struct channel *channel)
{
	struct frame_header header;

	if (channel->in.size >= sizeof(header)) {
		memcpy(&header, channel->in.data, sizeof(header));
		if (header.size <= FRAME_PAYLOAD_MAX &&
		    sizeof(header) + header.size > channel->in.size &&
		    sizeof(header) + header.size - channel->in.size > READ_STEP)
			return READ_LARGE;
	}
	return channel->in.capacity == 0 ? READ_FIRST : READ_STEP;
}

void channel_read(struct channel *channel)
{
	size_t total = 0;

	while (channel->fd >= 0 && !channel->is_ended && total < READ_PER_TURN) {
		size_t room = room_wanted(channel);
		struct err why = {0};
		ssize_t n;

		if (channel->in.size + room > IN_MAX)
			room = IN_MAX - channel->in.size;
		if (room == 0 || buf_reserve(&channel->in, room) < 0) {
			(void)err_set(&why, ERR_INTERNAL, ENOMEM, "no memory for a frame");
			end(channel, &why);
			return;
		}
		n = recv(channel->fd, channel->in.data + channel->in.size, room, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			/* A reset is how the end looks when we had more to say. */
			if (n < 0 && errno != ECONNRESET)
				(void)err_sys(&why, "channel");
			end(channel, &why);
			return;
		}
		channel->in.size += (size_t)n;
		total += (size_t)n;
		if (!deliver(channel) || (size_t)n < room)
			return;
	}
}

/* Returns false when the socket takes no more for now. */
static bool send_some(struct channel *channel, struct channel_message *message)
{
	while (message->sent < message->bytes.size) {
		size_t fd_count = message->fd >= 0 ? 1 : 0;
		ssize_t n =
			io_send_fds(channel->fd, message->bytes.data + message->sent,
				    message->bytes.size - message->sent, &message->fd, fd_count);

		if (n == -EAGAIN)
			return false;
		/* Gone: reading says so, too, and in its own words. */
		if (n < 0)
			return true;
		drop_fd(&message->fd);
		message->sent += (size_t)n;
	}
	return true;
}

static void socket_ready(uv_poll_t *poll, int status, int events);

static void watch(struct channel *channel)
{
	int events = UV_READABLE | (STAILQ_EMPTY(&channel->out) ? 0 : UV_WRITABLE);

	(void)uv_poll_start(&channel->poll, events, socket_ready);
}

static void socket_ready(uv_poll_t *poll, int status, int events)
{
	struct channel *channel = poll->data;

	if (events & UV_WRITABLE) {
		while (!STAILQ_EMPTY(&channel->out)) {
			struct channel_message *message = STAILQ_FIRST(&channel->out);

			if (!send_some(channel, message))
				break;
			STAILQ_REMOVE_HEAD(&channel->out, entry);
			message_free(message);
		}
		if (STAILQ_EMPTY(&channel->out))
			watch(channel);
	}
	if ((events & UV_READABLE) || status < 0)
		channel_read(channel);
}

int channel_open(struct channel *channel, uv_loop_t *loop, int *take_fd,
		 const struct channel_calls *calls, void *user, struct err *err)
{
	int r = uv_poll_init(loop, &channel->poll, *take_fd);

	if (r < 0) {
		drop_fd(take_fd);
		return err_set(err, ERR_INTERNAL, -r, "watch a channel: %s", uv_strerror(r));
	}
	channel->poll.data = channel;
	channel->fd = steal_fd(take_fd);
	channel->calls = calls;
	channel->user = user;
	channel->is_ended = false;
	buf_init(&channel->in, IN_MAX);
	STAILQ_INIT(&channel->out);
	watch(channel);
	return 0;
}

void channel_listen(struct channel *channel, const struct channel_calls *calls, void *user)
{
	channel->calls = calls;
	channel->user = user;
}

int channel_send(struct channel *channel, struct buf *take_bytes, int *take_fd, struct err *err)
{
	struct channel_message *message = NULL;

	if (channel->fd < 0 || channel->is_ended) {
		buf_done(take_bytes);
		if (take_fd != NULL)
			drop_fd(take_fd);
		return err_set(err, ERR_INTERNAL, EPIPE, "the sandbox closed its channel");
	}

	message = xnew(struct channel_message);
	message->bytes = *take_bytes;
	message->fd = take_fd != NULL ? steal_fd(take_fd) : -1;
	buf_init(take_bytes, take_bytes->max);

	if (STAILQ_EMPTY(&channel->out) && send_some(channel, message)) {
		message_free(message);
		return 0;
	}
	STAILQ_INSERT_TAIL(&channel->out, message, entry);
	watch(channel);
	return 0;
}

void channel_close(struct channel *channel, uv_close_cb closed)
{
	if (channel->fd < 0)
		return;
	uv_close((uv_handle_t *)&channel->poll, closed);
	drop_fd(&channel->fd);
	buf_done(&channel->in);
	while (!STAILQ_EMPTY(&channel->out)) {
		struct channel_message *message = STAILQ_FIRST(&channel->out);

		STAILQ_REMOVE_HEAD(&channel->out, entry);
		message_free(message);
	}
}
