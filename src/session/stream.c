// SPDX-License-Identifier: Apache-2.0
#include "session/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"

#define READ_STEP (16U << 10)
#define PUNCH_STEP (1U << 20)  /* the spool's memory is freed in steps of this */
#define READ_MAX (1U << 20)    /* the most a pipe can hold: F_SETPIPE_SZ without privilege */
#define IGNORED_MAX (1U << 20) /* bytes that are read and thrown away; then the writer waits */

static void pipe_ready(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	stream_drain(poll->data);
}

static uint64_t spooled(const struct stream *stream)
{
	struct stat status;

	if (stream->spool < 0 || fstat(stream->spool, &status) < 0)
		return 0;
	return (uint64_t)status.st_size;
}

int stream_open(struct stream *stream, uv_loop_t *loop, int *take_fd, int *take_spool, int number,
		void (*bytes)(void *user, int number, const uint8_t *data, size_t size), void *user,
		struct err *err)
{
	int r = uv_poll_init(loop, &stream->poll, *take_fd);

	if (r < 0) {
		drop_fd(take_fd);
		drop_fd(take_spool);
		return err_set(err, ERR_INTERNAL, -r, "watch a pipe: %s", uv_strerror(r));
	}
	stream->poll.data = stream;
	stream->fd = steal_fd(take_fd);
	stream->spool = steal_fd(take_spool);
	stream->number = number;
	stream->is_ended = stream->is_held = false;
	/* The bytes in a spool of the previous daemon count as delivered, unless stream_resume says
	 * otherwise. */
	stream->taken = stream->punched = spooled(stream);
	stream_listen(stream, bytes, user);
	(void)uv_poll_start(&stream->poll, UV_READABLE, pipe_ready);
	return 0;
}

void stream_listen(struct stream *stream,
		   void (*bytes)(void *user, int number, const uint8_t *data, size_t size),
		   void *user)
{
	stream->bytes = bytes;
	stream->user = user;
	if (stream->is_held && bytes != NULL && stream->fd >= 0 && !stream->is_ended)
		(void)uv_poll_start(&stream->poll, UV_READABLE, pipe_ready);
	stream->is_held = false;
	stream->ignored = 0;
}

/* A process left running between runs may write for ever, which must not keep us busy. */
static void tell(struct stream *stream, const uint8_t *data, size_t size)
{
	if (stream->bytes != NULL) {
		stream->bytes(stream->user, stream->number, data, size);
		return;
	}
	stream->ignored += size;
	if (stream->ignored > IGNORED_MAX && !stream->is_held) {
		stream->is_held = true;
		(void)uv_poll_stop(&stream->poll);
	}
}

/* Delivers the bytes of the spool that were not delivered yet. */
static void tell_spooled(struct stream *stream)
{
	uint8_t data[READ_STEP] __attribute__((uninitialized));
	ssize_t n;

	while (stream->fd >= 0 &&
	       (n = pread(stream->spool, data, sizeof(data), (off_t)stream->taken)) > 0) {
		stream->taken += (uint64_t)n;
		tell(stream, data, (size_t)n);
	}
	if (stream->fd >= 0 && stream->taken - stream->punched >= PUNCH_STEP) {
		(void)fallocate(stream->spool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				(off_t)stream->taken);
		stream->punched = stream->taken;
	}
}

void stream_rewind(struct stream *stream)
{
	/* `taken` is the size of the spool: if it is 0, there is nothing to truncate. */
	if (stream->spool >= 0 && stream->taken > 0) {
		(void)ftruncate(stream->spool, 0);
		(void)lseek(stream->spool, 0, SEEK_SET);
	}
	stream->taken = stream->punched = 0;
}

void stream_resume(struct stream *stream, uint64_t taken)
{
	stream->taken = stream->punched = taken;
	tell_spooled(stream);
	stream_drain(stream);
}

void stream_drain(struct stream *stream)
{
	/* Not zeroed like other variables (-ftrivial-auto-var-init): that would cost more than the
	 * read itself, and only the bytes read are used. */
	uint8_t data[READ_STEP] __attribute__((uninitialized));
	size_t total = 0;

	while (stream->fd >= 0 && !stream->is_ended && total < READ_MAX) {
		bool is_spooled = stream->spool >= 0;
		ssize_t n = -1;

		if (is_spooled)
			n = splice(stream->fd, NULL, stream->spool, NULL, READ_MAX,
				   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
		if (n < 0 && (!is_spooled || (errno != EAGAIN && errno != EINTR))) {
			/* No memory for the spool: the bytes are delivered all the same, but the
			 * next viv would not know of them. */
			is_spooled = false;
			n = read(stream->fd, data, sizeof(data));
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			stream->is_ended = true;
			(void)uv_poll_stop(&stream->poll);
			return;
		}
		total += (size_t)n;
		if (is_spooled)
			tell_spooled(stream);
		else
			tell(stream, data, (size_t)n);
	}
}

void stream_close(struct stream *stream, uv_close_cb closed)
{
	if (stream->fd < 0)
		return;
	uv_close((uv_handle_t *)&stream->poll, closed);
	drop_fd(&stream->fd);
	drop_fd(&stream->spool);
}
