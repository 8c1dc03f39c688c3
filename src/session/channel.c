// SPDX-License-Identifier: Apache-2.0
#include "session/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include "base/c.h"
#include "base/io.h"

#define PEEK_FIRST 4096U /* most frames are small */
#define PEEK_MAX (FRAME_PIECE_MAX + sizeof(struct frame_header))
#define READ_PER_TURN (4U << 20) /* then other handles of the loop have their turn */
#define REPEATS_MAX 64U          /* the next viv may see one frame twice, hardly more */
#define WAIT_MS_MAX 64U
#define OUT_MAX 64U /* unsent messages; above this we stop reading from the peer */

struct channel_message {
	struct buf bytes; /* owned */
	size_t sent;
	int fds[CHANNEL_FDS_MAX]; /* owned until the first byte is sent; -1: none */
	size_t fd_count;
	STAILQ_ENTRY(channel_message) entry;
};

static void message_free(struct channel_message *message)
{
	buf_done(&message->bytes);
	for (size_t i = 0; i < message->fd_count; i++)
		drop_fd(&message->fds[i]);
	free(message);
}

static void end(struct channel *channel, const struct err *why)
{
	if (channel->is_ended)
		return;
	channel->is_ended = true;
	(void)uv_poll_stop(&channel->poll);
	(void)uv_timer_stop(&channel->timer);
	channel->calls->ended(channel->user, why);
}

/* ---- frames ---- */

static int add_piece(struct channel *channel, const struct frame *piece, struct err *err)
{
	const struct frame_header *first = &channel->first;
	const struct frame_header *header = &piece->header;

	if (channel->whole.size == 0) {
		channel->first = *header;
	} else if (header->type != first->type || header->nonce != first->nonce) {
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "a frame between two pieces");
	}
	/* Smaller pieces could make us work endlessly for few bytes. */
	if (header->flags & FRAME_FLAG_MORE && header->size != FRAME_PIECE_MAX)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "a piece of %u bytes", header->size);
	if (buf_append(&channel->whole, piece->payload, header->size) < 0)
		return err_set(err, ERR_BAD_REQUEST, EMSGSIZE, "a payload above %u bytes",
			       FRAME_PAYLOAD_MAX);
	return 0;
}

/* All pieces have arrived. */
static void deliver_whole(struct channel *channel, const struct frame *last)
{
	struct frame frame = *last;
	struct buf whole = channel->whole;

	buf_init(&channel->whole, FRAME_PAYLOAD_MAX);
	frame.header.size = (uint32_t)whole.size;
	frame.payload = whole.data;
	channel->calls->frame(channel->user, &frame);
	buf_done(&whole);
}

/* Returns a negative errno if this frame may not come now. */
static int deliver(struct channel *channel, const struct frame *piece, struct err *err)
{
	bool has_more = piece->header.flags & FRAME_FLAG_MORE;

	if (piece->header.counter <= channel->counter) {
		if (++channel->repeats > REPEATS_MAX)
			return err_set(err, ERR_BAD_REQUEST, EPROTO, "too many repeated frames");
		return 0;
	}
	if (piece->header.counter != channel->counter + 1 && !channel->is_taken_over)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "frame %u where %u was expected",
			       piece->header.counter, channel->counter + 1);
	channel->counter = piece->header.counter;
	channel->is_taken_over = false;

	if (channel->calls->piece != NULL) {
		channel->calls->piece(channel->user, piece);
		if (channel->fd < 0)
			return 0;
	}
	if (has_more && channel->calls->drops_pieces)
		return 0;
	if (has_more || channel->whole.size > 0) {
		int r = add_piece(channel, piece, err);

		if (r == 0 && !has_more)
			deliver_whole(channel, piece);
		return r;
	}
	channel->calls->frame(channel->user, piece);
	return 0;
}

/* Delivers the whole frames in `bytes`; returns how many bytes they took, or a negative errno. */
static int64_t deliver_all(struct channel *channel, const struct buf *bytes, struct err *err)
{
	size_t used = 0;

	while (channel->fd >= 0 && !channel->is_ended) {
		struct frame piece = {0};
		size_t left = bytes->size - used;
		int64_t n = frame_decode(bytes->data + used, left, &piece, err);
		int r;

		if (n < 0)
			return n;
		if (n == 0 && left >= sizeof(piece.header)) {
			memcpy(&piece.header, bytes->data + used, sizeof(piece.header));
			if (piece.header.size > FRAME_PIECE_MAX)
				return err_set(err, ERR_BAD_REQUEST, EMSGSIZE,
					       "a piece of %u bytes", piece.header.size);
		}
		if (n == 0)
			break;
		used += (size_t)n;
		r = deliver(channel, &piece, err);
		if (r < 0)
			return r;
	}
	return (int64_t)used;
}

/* ---- reading ---- */

/* Notes who sent the bytes. The control buffer has room for credentials only, so the kernel hands
 * over no descriptor. */
static void note_sender(struct channel *channel, struct msghdr *msg)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(msg);
	struct ucred sender;

	if (header == NULL || header->cmsg_level != SOL_SOCKET ||
	    header->cmsg_type != SCM_CREDENTIALS)
		return;
	memcpy(&sender, CMSG_DATA(header), sizeof(sender));
	channel->sender = sender.pid;
}

/* Reads up to `room` bytes without removing them from the socket. */
static ssize_t peek(struct channel *channel, struct buf *bytes, size_t room)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = {.iov_len = room};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	buf_cut(bytes, 0);
	if (buf_reserve(bytes, room) < 0)
		return -ENOMEM;
	iov.iov_base = bytes->data;
	if (channel->wants_sender) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
	}
	n = recvmsg(channel->fd, &msg, MSG_DONTWAIT | MSG_PEEK | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	if (channel->wants_sender)
		note_sender(channel, &msg);
	bytes->size = (size_t)n;
	return n;
}

/* Removes the delivered bytes from the socket. */
static int consume(const struct channel *channel, struct buf *scratch, size_t size)
{
	while (size > 0) {
		ssize_t n = recv(channel->fd, scratch->data, size, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		size -= (size_t)n;
	}
	return 0;
}

static bool is_hung_up(const struct channel *channel)
{
	struct pollfd pollfd = {.fd = channel->fd, .events = POLLRDHUP};

	return poll(&pollfd, 1, 0) > 0 && (pollfd.revents & (POLLHUP | POLLRDHUP)) != 0;
}

static void socket_ready(uv_poll_t *poll, int status, int events);

static void watch(struct channel *channel)
{
	bool is_deaf = channel->is_waiting || channel->is_paused || channel->out_count > OUT_MAX;
	int events = (is_deaf ? 0 : UV_READABLE) | (STAILQ_EMPTY(&channel->out) ? 0 : UV_WRITABLE);

	if (channel->fd < 0 || channel->is_ended)
		return;
	if (events == 0)
		(void)uv_poll_stop(&channel->poll);
	else
		(void)uv_poll_start(&channel->poll, events, socket_ready);
}

static void timer_due(uv_timer_t *timer)
{
	struct channel *channel = timer->data;

	channel->is_waiting = false;
	channel_read(channel);
	watch(channel);
}

/*
 * Only part of a frame has arrived. It stays in the socket, which would therefore be readable all
 * the time: so the loop does not watch the socket, and a timer polls it, less often each time.
 */
static void await_rest(struct channel *channel)
{
	channel->wait_ms = channel->wait_ms == 0 ? 1 : channel->wait_ms * 2;
	if (channel->wait_ms > WAIT_MS_MAX)
		channel->wait_ms = WAIT_MS_MAX;
	channel->is_waiting = true;
	(void)uv_timer_start(&channel->timer, timer_due, channel->wait_ms, 0);
	watch(channel);
}

/* Reads once. Returns the bytes taken; 0: no more for now, or the channel was closed. `ret_is_all`:
 * the socket had less than there was room for, so it is empty. */
static size_t read_some(struct channel *channel, struct buf *bytes, bool *ret_is_all)
{
	size_t room = channel->whole.size > 0 ? PEEK_MAX : PEEK_FIRST;
	struct err why = {0};
	ssize_t n = peek(channel, bytes, room);
	int64_t used = n > 0 ? deliver_all(channel, bytes, &why) : n;

	if (n == (ssize_t)PEEK_FIRST && used == 0) {
		n = peek(channel, bytes, PEEK_MAX);
		used = n > 0 ? deliver_all(channel, bytes, &why) : n;
	}
	if (channel->fd < 0 || channel->is_ended || n == -EAGAIN || n == -EINTR)
		return 0;
	if (used > 0 && consume(channel, bytes, (size_t)used) == 0) {
		channel->wait_ms = 0;
		*ret_is_all = used == n && n < (ssize_t)room;
		return (size_t)used;
	}
	/* Once the other side is gone, one more read has seen everything it sent. */
	if (n > 0 && used == 0 && !channel->is_hung_up) {
		channel->is_hung_up = is_hung_up(channel);
		await_rest(channel);
		return 0;
	}
	/* If the peer closes with unread bytes of ours, the end shows as a reset. */
	if (n < 0 && n != -ECONNRESET)
		(void)err_set(&why, ERR_INTERNAL, (int)-n, "channel: %s", strerror((int)-n));
	end(channel, &why);
	return 0;
}

/* Reads the frames that have arrived. `to_end`: until the socket is known to be empty. Otherwise
 * reading may stop earlier, and the loop reports the rest. */
static void read_frames(struct channel *channel, bool to_end)
{
	struct buf bytes;
	size_t total = 0;
	size_t taken = 1;
	bool is_all = false;

	/* A callback of a read has called this: that read continues anyway. */
	if (channel->is_reading)
		return;
	channel->is_reading = true;
	buf_init(&bytes, PEEK_MAX);
	while (taken > 0 && !is_all && channel->fd >= 0 && !channel->is_ended &&
	       !channel->is_paused && channel->out_count <= OUT_MAX && total < READ_PER_TURN) {
		taken = read_some(channel, &bytes, &is_all);
		is_all = is_all && !to_end;
		total += taken;
	}
	buf_done(&bytes);
	channel->is_reading = false;
}

void channel_read(struct channel *channel)
{
	read_frames(channel, true);
}

void channel_pause(struct channel *channel)
{
	channel->is_paused = true;
	watch(channel);
}

void channel_resume(struct channel *channel)
{
	if (!channel->is_paused)
		return;
	channel->is_paused = false;
	watch(channel);
}

/* ---- sending ---- */

/* Returns false when the socket takes no more for now. */
static bool send_some(struct channel *channel, struct channel_message *message)
{
	while (message->sent < message->bytes.size) {
		ssize_t n = io_send_fds(channel->fd, message->bytes.data + message->sent,
					message->bytes.size - message->sent, message->fds,
					message->fd_count);

		if (n == -EAGAIN)
			return false;
		/* The peer is gone: reading reports that, with the reason. */
		if (n < 0)
			return true;
		for (size_t i = 0; i < message->fd_count; i++)
			drop_fd(&message->fds[i]);
		message->fd_count = 0;
		message->sent += (size_t)n;
	}
	return true;
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
			channel->out_count--;
			message_free(message);
		}
		watch(channel);
	}
	if ((events & UV_READABLE) || status < 0)
		read_frames(channel, status < 0);
}

int channel_open(struct channel *channel, uv_loop_t *loop, int *take_fd,
		 const struct channel_calls *calls, void *user, struct err *err)
{
	int r = uv_poll_init(loop, &channel->poll, *take_fd);

	if (r < 0) {
		drop_fd(take_fd);
		return err_set(err, ERR_INTERNAL, -r, "watch a channel: %s", uv_strerror(r));
	}
	(void)uv_timer_init(loop, &channel->timer);
	channel->poll.data = channel;
	channel->timer.data = channel;
	channel->fd = steal_fd(take_fd);
	channel->calls = calls;
	channel->user = user;
	channel->counter = 0;
	channel->repeats = 0;
	channel->sender = 0;
	channel->wait_ms = 0;
	channel->wants_sender = false;
	channel->is_reading = false;
	channel->is_waiting = false;
	channel->is_hung_up = false;
	channel->is_paused = false;
	channel->is_ended = false;
	buf_init(&channel->whole, FRAME_PAYLOAD_MAX);
	channel->out_count = 0;
	STAILQ_INIT(&channel->out);
	watch(channel);
	return 0;
}

void channel_listen(struct channel *channel, const struct channel_calls *calls, void *user)
{
	channel->calls = calls;
	channel->user = user;
	if (calls->drops_pieces) {
		buf_done(&channel->whole);
		buf_init(&channel->whole, FRAME_PAYLOAD_MAX);
	}
}

int channel_take_over(struct channel *channel, uint32_t counter, uint16_t type, uint64_t nonce,
		      const struct buf *pieces)
{
	channel->counter = counter;
	channel->is_taken_over = true;
	if (pieces == NULL || pieces->size == 0)
		return 0;
	channel->first = (struct frame_header){.type = type, .nonce = nonce};
	return buf_append(&channel->whole, pieces->data, pieces->size);
}

int channel_want_sender(struct channel *channel, struct err *err)
{
	const int on = 1;

	if (setsockopt(channel->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return err_sys(err, "set SO_PASSCRED on a channel");
	channel->wants_sender = true;
	return 0;
}

int channel_send(struct channel *channel, struct buf *take_bytes, int *take_fd, struct err *err)
{
	return channel_send_fds(channel, take_bytes, take_fd, take_fd != NULL ? 1 : 0, err);
}

int channel_send_fds(struct channel *channel, struct buf *take_bytes, int *take_fds, size_t count,
		     struct err *err)
{
	struct channel_message *message = xnew(struct channel_message);

	message->bytes = *take_bytes;
	buf_init(take_bytes, take_bytes->max);
	for (size_t i = 0; i < count; i++) {
		int fd = steal_fd(&take_fds[i]);

		if (fd >= 0 && message->fd_count < CHANNEL_FDS_MAX)
			message->fds[message->fd_count++] = fd;
		else
			drop_fd(&fd);
	}
	if (channel->fd < 0 || channel->is_ended) {
		message_free(message);
		return err_set(err, ERR_BUSY, EPIPE, "the sandbox has ended");
	}
	if (STAILQ_EMPTY(&channel->out) && send_some(channel, message)) {
		message_free(message);
		return 0;
	}
	STAILQ_INSERT_TAIL(&channel->out, message, entry);
	channel->out_count++;
	watch(channel);
	return 0;
}

/* ---- closing ---- */

static void timer_closed(uv_handle_t *handle)
{
	struct channel *channel = handle->data;

	if (channel->closed != NULL)
		channel->closed((uv_handle_t *)&channel->poll);
}

/* Close the handles one after the other, since `closed` may free the channel. */
static void poll_closed(uv_handle_t *handle)
{
	struct channel *channel = handle->data;

	uv_close((uv_handle_t *)&channel->timer, timer_closed);
}

void channel_close(struct channel *channel, uv_close_cb closed)
{
	if (channel->fd < 0)
		return;
	channel->closed = closed;
	(void)uv_timer_stop(&channel->timer);
	uv_close((uv_handle_t *)&channel->poll, poll_closed);
	drop_fd(&channel->fd);
	buf_done(&channel->whole);
	while (!STAILQ_EMPTY(&channel->out)) {
		struct channel_message *message = STAILQ_FIRST(&channel->out);

		STAILQ_REMOVE_HEAD(&channel->out, entry);
		message_free(message);
	}
}
