// SPDX-License-Identifier: Apache-2.0
#include "session/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/c.h"

#define DATA_MAX 16384

static void watch(struct feed *feed);

static void handle_closed(uv_handle_t *handle)
{
	struct feed *feed = handle->data;

	feed->handles--;
	if (feed->handles > 0)
		return;
	free(STEAL(feed->data));
	feed->closed(feed->user);
}

/* Close the handle before the descriptor: uv_close still passes the descriptor to epoll. */
void feed_close(struct feed *feed)
{
	if (feed->handles == 0 || feed->from < 0)
		return;
	feed->from = -1;
	uv_close((uv_handle_t *)&feed->to_poll, handle_closed);
	if (feed->is_pollable)
		uv_close((uv_handle_t *)&feed->from_poll, handle_closed);
	drop_fd(&feed->to);
}

static void fill(struct feed *feed)
{
	ssize_t n = read(feed->from, feed->data, DATA_MAX);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		feed_close(feed);
		return;
	}
	feed->at = 0;
	feed->size = (size_t)n;
}

static void drain(struct feed *feed)
{
	ssize_t n = write(feed->to, feed->data + feed->at, feed->size - feed->at);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		feed_close(feed); /* no process reads it any more */
		return;
	}
	feed->at += (size_t)n;
}

static void from_ready(uv_poll_t *poll, int status, int events)
{
	struct feed *feed = poll->data;

	(void)status;
	(void)events;
	if (feed->from < 0)
		return;
	fill(feed);
	if (feed->from >= 0 && feed->at < feed->size)
		drain(feed);
	watch(feed);
}

static void to_ready(uv_poll_t *poll, int status, int events)
{
	struct feed *feed = poll->data;

	(void)status;
	(void)events;
	if (feed->from < 0)
		return;
	if (feed->at == feed->size && !feed->is_pollable)
		fill(feed);
	if (feed->from >= 0 && feed->at < feed->size)
		drain(feed);
	watch(feed);
}

/* Waits for the source while there is nothing to write, else for the sandbox. */
static void watch(struct feed *feed)
{
	bool has_bytes = feed->at < feed->size;

	if (feed->from < 0)
		return;
	if (has_bytes || !feed->is_pollable)
		(void)uv_poll_start(&feed->to_poll, UV_WRITABLE, to_ready);
	else
		(void)uv_poll_stop(&feed->to_poll);
	if (!feed->is_pollable)
		return;
	if (has_bytes)
		(void)uv_poll_stop(&feed->from_poll);
	else
		(void)uv_poll_start(&feed->from_poll, UV_READABLE, from_ready);
}

int feed_open(struct feed *feed, uv_loop_t *loop, int from, int *take_to,
	      void (*closed)(void *user), void *user, struct err *err)
{
	int flags = fcntl(from, F_GETFL);
	int r = uv_poll_init(loop, &feed->to_poll, *take_to);

	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "watch stdin: %s", uv_strerror(r));
	feed->to_poll.data = feed;
	feed->data = xcalloc(1, DATA_MAX);
	feed->handles = 1;
	feed->from = from;
	feed->to = steal_fd(take_to);
	feed->closed = closed;
	feed->user = user;

	r = uv_poll_init(loop, &feed->from_poll, from);
	feed->is_pollable = r == 0;
	if (feed->is_pollable) {
		feed->from_poll.data = feed;
		feed->handles = 2;
		/* libuv made the source non-blocking, for every process that shares it: undo that.
		 * One read after each readiness event does not block either way. */
		if (flags >= 0)
			(void)fcntl(from, F_SETFL, flags);
	}
	watch(feed);
	return 0;
}
