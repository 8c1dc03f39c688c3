// SPDX-License-Identifier: Apache-2.0
#include "http/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "http/linger.h"
#include "http/listen.h"
#include "http/server.h"

#define ACCEPT_BATCH 64     /* then others have their turn */
#define ACCEPT_PAUSE_MS 100 /* when out of descriptors */
#define TURNS_MAX 16        /* of libmicrohttpd in a row, while it says that it has more to do */
#define STUCK_MAX 4         /* of those without a callback: then it is only waiting */
#define STUCK_PAUSE_MS 5
#define POOL_MIN (32 * KIB) /* per connection: its headers, then the buffer for its bodies */

static void fill_defaults(struct http_settings *settings)
{
	static const struct http_settings defaults = {
		.connections_max = 1024,
		.idle_ms = 60000,
		.head_ms = 10000,
		.body_stall_ms = 30000,
		.send_stall_ms = 120000,
		.header_max = 16 * KIB,
		.held_max = 256 * MIB,
	};

#define FILL(member)                                                                               \
	do {                                                                                       \
		if (settings->member == 0)                                                         \
			settings->member = defaults.member;                                        \
	} while (0)
	FILL(connections_max);
	FILL(idle_ms);
	FILL(head_ms);
	FILL(body_stall_ms);
	FILL(send_stall_ms);
	FILL(header_max);
	FILL(held_max);
#undef FILL
	if (settings->owner_held_max == 0)
		settings->owner_held_max = settings->held_max;
	if (settings->owner_max == 0)
		settings->owner_max = settings->connections_max;
}

/* ---- libmicrohttpd in the loop ---- */

/* When libmicrohttpd must run again without an event: 0 at once, -1 never. */
static int64_t due_ms(struct http *http)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms = 0;

	if (http->is_dirty)
		return 0;
	return MHD_get_timeout(http->daemon, &timeout_ms) == MHD_YES ? (int64_t)timeout_ms : -1;
}

static void on_again(uv_timer_t *timer);

/*
 * Runs libmicrohttpd as long as it makes progress. It says "at once" also for a connection whose
 * buffer is full of something it cannot take (an endless chunk extension). Calling it again and
 * again would use a whole core, so without progress it is called only now and then, until that
 * connection's deadline.
 */
static void http_turn(struct http *http)
{
	int64_t due = 0;

	if (http->is_running || http->is_closing)
		return;
	http->is_running = true;
	for (int i = 0; i < TURNS_MAX && due == 0 && http->stuck <= STUCK_MAX; i++) {
		uint64_t progress = http->progress;

		http->is_dirty = false;
		(void)MHD_run(http->daemon);
		due = due_ms(http);
		http->stuck = due == 0 && progress == http->progress ? http->stuck + 1 : 0;
	}
	http->is_running = false;

	if (http->stuck > STUCK_MAX) {
		http->stuck = STUCK_MAX;
		due = STUCK_PAUSE_MS;
	}
	if (due >= 0)
		(void)uv_timer_start(&http->again, on_again, (uint64_t)due, 0);
	else
		(void)uv_timer_stop(&http->again);
}

static void on_again(uv_timer_t *timer)
{
	http_turn(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	http_turn(poll->data);
}

void http_wake(struct http *http)
{
	http->is_dirty = true;
}

/* Runs before the loop sleeps and after its events, so that an answer never waits for the next
 * event. */
static void before_sleep(struct http *http)
{
	if (http->is_dirty)
		http_turn(http);
	if (http->idle != NULL && http_connections(http) == 0) {
		void (*idle)(void *user) = http->idle;

		http->idle = NULL;
		idle(http->idle_user);
	}
}

static void on_prepare(uv_prepare_t *prepare)
{
	before_sleep(prepare->data);
}

static void on_check(uv_check_t *check)
{
	before_sleep(check->data);
}

/* ---- listening ---- */

static void on_accept_again(uv_timer_t *timer);
static void on_listen(uv_poll_t *poll, int status, int events);

static void listen_pause(struct http *http)
{
	struct listener *listener;

	TAILQ_FOREACH(listener, &http->listeners, entry)
		(void)uv_poll_stop(&listener->poll);
	(void)uv_timer_start(&http->accept, on_accept_again, ACCEPT_PAUSE_MS, 0);
}

static void on_accept_again(uv_timer_t *timer)
{
	struct http *http = timer->data;
	struct listener *listener;

	TAILQ_FOREACH(listener, &http->listeners, entry)
		(void)uv_poll_start(&listener->poll, UV_READABLE, on_listen);
}

static void on_listen(uv_poll_t *poll, int status, int events)
{
	struct listener *listener = poll->data;
	struct http *http = listener->http;

	(void)status;
	(void)events;
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		struct sockaddr_storage peer = {0};
		socklen_t size = sizeof(peer);
		int fd = accept4(listener->fd, (struct sockaddr *)&peer, &size,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			conn_open(http, &fd, (struct sockaddr *)&peer, size);
			continue;
		}
		if (errno == EAGAIN)
			return;
		/* The client stays in the queue, which stays readable: polling on would spin. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			listen_pause(http);
			return;
		}
	}
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct listener *listener = handle->data;
	struct http *http = listener->http;

	free(listener);
	http_handle_closed(http);
}

static void listener_end(struct http *http, struct listener *listener)
{
	TAILQ_REMOVE(&http->listeners, listener, entry);
	uv_close((uv_handle_t *)&listener->poll, on_listener_closed);
	listener_close(listener);
}

static int listener_start(struct http *http, struct listener *take_listener, struct err *err)
{
	struct listener *listener = take_listener;
	int r = uv_poll_init(http->loop, &listener->poll, listener->fd);

	if (r < 0) {
		listener_close(listener);
		free(listener);
		return err_set(err, ERR_INTERNAL, -r, "watch a socket: %s", uv_strerror(r));
	}
	listener->http = http;
	listener->poll.data = listener;
	http->handles++;
	TAILQ_INSERT_TAIL(&http->listeners, listener, entry);
	(void)uv_poll_start(&listener->poll, UV_READABLE, on_listen);
	return 0;
}

int http_listen(struct http *http, const char *address, struct buf *ret_bound, struct err *err)
{
	struct listener *listener = xnew(struct listener);
	int r = listener_open(listener, address, ret_bound, err);

	if (r < 0) {
		free(listener);
		return r;
	}
	return listener_start(http, listener, err);
}

int http_listen_fd(struct http *http, int *take_fd, struct err *err)
{
	struct listener *listener = xnew(struct listener);
	int r = listener_adopt(listener, take_fd, err);

	if (r < 0) {
		free(listener);
		return r;
	}
	return listener_start(http, listener, err);
}

/* ---- life ---- */

/* Targets stay as sent; exchange.c decodes what it hands out. */
static size_t keep_escaped(void *user, struct MHD_Connection *mhd, char *text)
{
	(void)user;
	(void)mhd;
	return strlen(text);
}

/* TURBO: it closes without shutdown(), so that what it leaves unread can be drained (linger.h), and
 * reads a new connection before it polls for it. */
static struct MHD_Daemon *start_daemon(struct http *http)
{
	size_t pool = 2 * http->settings.header_max;
	const unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_TURBO |
			       MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	/* Our own limit is the effective one: it is shared by all listeners, and answers 503. */
	unsigned limit = http->settings.connections_max + CONN_CUT_MAX;

	/* clang-format off */
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, http,
		MHD_OPTION_EXTERNAL_LOGGER, on_message, http,
		MHD_OPTION_CONNECTION_LIMIT, limit,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool > POOL_MIN ? pool : (size_t)POOL_MIN,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, http,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, http,
		MHD_OPTION_END);
	/* clang-format on */
}

static void start_handles(struct http *http)
{
	(void)uv_prepare_init(http->loop, &http->prepare);
	(void)uv_check_init(http->loop, &http->check);
	(void)uv_timer_init(http->loop, &http->again);
	(void)uv_timer_init(http->loop, &http->accept);
	http->poll.data = http->prepare.data = http->check.data = http;
	http->again.data = http->accept.data = http;
	http->handles = 5;
	(void)uv_poll_start(&http->poll, UV_READABLE, on_poll);
	(void)uv_prepare_start(&http->prepare, on_prepare);
	(void)uv_check_start(&http->check, on_check);
}

int http_new(uv_loop_t *loop, const struct http_settings *settings, const struct http_calls *calls,
	     void *user, struct http **ret_http, struct err *err)
{
	struct http *http = xnew(struct http);
	const union MHD_DaemonInfo *info;
	int r;

	http->loop = loop;
	http->settings = settings != NULL ? *settings : (struct http_settings){0};
	http->calls = *calls;
	http->user = user;
	TAILQ_INIT(&http->listeners);
	TAILQ_INIT(&http->conns);
	TAILQ_INIT(&http->lingers);
	fill_defaults(&http->settings);

	http->daemon = start_daemon(http);
	if (http->daemon == NULL) {
		r = err_sys(err, "start libmicrohttpd");
		free(http);
		return r;
	}
	info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	r = uv_poll_init(loop, &http->poll, info->epoll_fd);
	if (r < 0) {
		MHD_stop_daemon(http->daemon);
		free(http);
		return err_set(err, ERR_INTERNAL, -r, "watch libmicrohttpd: %s", uv_strerror(r));
	}
	start_handles(http);
	*ret_http = http;
	return 0;
}

void http_handle_closed(struct http *http)
{
	if (--http->handles == 0)
		free(http);
}

static void on_own_closed(uv_handle_t *handle)
{
	http_handle_closed(handle->data);
}

void http_drain(struct http *http, void (*idle)(void *user), void *user)
{
	struct listener *listener, *next_listener;
	struct conn *conn, *next;

	http->is_draining = true;
	http->idle = idle;
	http->idle_user = user;
	for (listener = TAILQ_FIRST(&http->listeners); listener != NULL; listener = next_listener) {
		next_listener = TAILQ_NEXT(listener, entry);
		listener_end(http, listener);
	}
	(void)uv_timer_stop(&http->accept);

	/* A request on its way is still read: bytes received earlier come before the end of
	 * file. */
	for (conn = TAILQ_FIRST(&http->conns); conn != NULL; conn = next) {
		next = TAILQ_NEXT(conn, entry);
		if (conn->phase == CONN_IDLE)
			(void)shutdown(conn->fd, SHUT_RD);
	}
	http_wake(http);
}

void http_close(struct http *http)
{
	struct listener *listener;
	struct conn *conn;

	if (http == NULL || http->is_closing)
		return;
	http->is_closing = true;
	http->idle = NULL;
	while ((listener = TAILQ_FIRST(&http->listeners)) != NULL)
		listener_end(http, listener);
	lingers_end(http);

	/* libmicrohttpd must not be stopped while a connection is suspended (microhttpd.h). */
	TAILQ_FOREACH(conn, &http->conns, entry)
		conn_resume(conn);
	uv_close((uv_handle_t *)&http->poll, on_own_closed);
	MHD_stop_daemon(http->daemon);
	http->daemon = NULL;

	uv_close((uv_handle_t *)&http->prepare, on_own_closed);
	uv_close((uv_handle_t *)&http->check, on_own_closed);
	uv_close((uv_handle_t *)&http->again, on_own_closed);
	uv_close((uv_handle_t *)&http->accept, on_own_closed);
}

uint32_t http_connections(const struct http *http)
{
	return http->conn_count + http->linger_count;
}
