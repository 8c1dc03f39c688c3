// SPDX-License-Identifier: Apache-2.0
#include "http/linger.h"

#include <errno.h>
#include <stdlib.h>

#include "base/c.h"
#include "http/server.h"

#define LINGERS_MAX 256
#define LINGER_MS 5000
#define DRAIN_MAX (64 * MIB) /* for a client that reads nothing until it has sent everything */

struct lingering {
	TAILQ_ENTRY(lingering) entry;
	struct http *http;
	int fd; /* owned */
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned handles;
	struct buf text;
	size_t drained;
	bool is_shut;
};

static void on_closed(uv_handle_t *handle)
{
	struct lingering *linger = handle->data;
	struct http *http = linger->http;

	if (--linger->handles == 0)
		free(linger);
	http_handle_closed(http);
}

static void linger_end(struct lingering *linger)
{
	TAILQ_REMOVE(&linger->http->lingers, linger, entry);
	linger->http->linger_count--;
	uv_close((uv_handle_t *)&linger->poll, on_closed);
	uv_close((uv_handle_t *)&linger->timer, on_closed);
	drop_fd(&linger->fd);
	buf_done(&linger->text);
}

/* Writes as much as possible; when nothing is left, closes our end. False: the client has left. */
static bool linger_write(struct lingering *linger)
{
	while (linger->text.size > 0) {
		ssize_t n = send(linger->fd, linger->text.data, linger->text.size, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		buf_consume(&linger->text, (size_t)n);
	}
	if (!linger->is_shut)
		(void)shutdown(linger->fd, SHUT_WR);
	linger->is_shut = true;
	return true;
}

/* False: end of file, an error, or more bytes than any client should send. */
static bool linger_read(struct lingering *linger)
{
	char waste[16384];
	ssize_t n = recv(linger->fd, waste, sizeof(waste), 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	linger->drained += (size_t)n;
	return n > 0 && linger->drained <= DRAIN_MAX;
}

static void on_ready(uv_poll_t *poll, int status, int events);

static bool linger_go_on(struct lingering *linger)
{
	int events = UV_READABLE;

	if (!linger_write(linger))
		return false;
	/* A client that closed its end still reads our last bytes. */
	if (!linger_read(linger) && linger->is_shut)
		return false;
	if (!linger->is_shut)
		events = UV_WRITABLE;
	return uv_poll_start(&linger->poll, events, on_ready) == 0;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	(void)events;
	if (status < 0 || !linger_go_on(poll->data))
		linger_end(poll->data);
}

static void on_timeout(uv_timer_t *timer)
{
	linger_end(timer->data);
}

void linger_start(struct http *http, int *take_fd, struct buf *take_text)
{
	AUTO_CLOSE int fd = steal_fd(take_fd);
	struct buf text = *take_text;
	struct lingering *linger = NULL;

	buf_init(take_text, take_text->max);
	if (http->linger_count < LINGERS_MAX && !http->is_closing)
		linger = xnew(struct lingering);
	if (linger == NULL || uv_poll_init(http->loop, &linger->poll, fd) < 0) {
		if (text.size > 0)
			(void)send(fd, text.data, text.size, MSG_NOSIGNAL | MSG_DONTWAIT);
		buf_done(&text);
		free(linger);
		return;
	}

	linger->http = http;
	linger->fd = steal_fd(&fd);
	linger->text = text;
	linger->handles = 2;
	linger->poll.data = linger->timer.data = linger;
	http->handles += 2;
	http->linger_count++;
	TAILQ_INSERT_TAIL(&http->lingers, linger, entry);
	(void)uv_timer_init(http->loop, &linger->timer);
	(void)uv_timer_start(&linger->timer, on_timeout, LINGER_MS, 0);
	if (!linger_go_on(linger))
		linger_end(linger);
}

void lingers_end(struct http *http)
{
	struct lingering *linger;

	while ((linger = TAILQ_FIRST(&http->lingers)) != NULL)
		linger_end(linger);
}
