// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/tcp.h>

#include "base/c.h"
#include "base/io.h"
#include "http/answer.h"
#include "http/linger.h"
#include "http/server.h"
#include "http/traffic.h"

#define HANG_UP_S 1U
#define UNSENT_MAX (256 * 1024) /* unsent bytes in the kernel */
#define REFUSAL_MAX (4 * KIB)
#define TAIL_MAX (256 * MIB) /* an answer, whose size the caller limits */

static void on_timer(uv_timer_t *timer);

/* ---- going on ---- */

void conn_suspend(struct conn *conn)
{
	if (conn->is_suspended)
		return;
	conn->is_suspended = true;
	MHD_suspend_connection(conn->mhd);
}

void conn_resume(struct conn *conn)
{
	if (!conn->is_suspended)
		return;
	conn->is_suspended = false;
	MHD_resume_connection(conn->mhd);
	http_wake(conn->http);
}

/*
 * libmicrohttpd has no call for this. Closing our reading end is not enough: as long as the client
 * sends, there is something to read. It sees a hang-up of both ends at once where it polls; where
 * its buffer is full it does not poll, and only its own timeout makes it let go.
 */
static void hang_up(struct conn *conn)
{
	(void)shutdown(conn->fd, SHUT_RDWR);
	(void)MHD_set_connection_option(conn->mhd, MHD_CONNECTION_OPTION_TIMEOUT, HANG_UP_S);
	conn_resume(conn);
	http_wake(conn->http);
}

void conn_cut(struct conn *conn)
{
	if (conn->is_cut)
		return;
	conn->is_cut = true;
	conn->deadline = 0;
	hang_up(conn);
}

/* ---- clocks ---- */

static uint32_t phase_ms(const struct conn *conn)
{
	const struct http_settings *settings = &conn->http->settings;

	switch (conn->phase) {
	case CONN_IDLE:
		return settings->idle_ms;
	case CONN_HEAD:
		return settings->head_ms;
	case CONN_BODY:
		return settings->body_stall_ms;
	case CONN_SEND:
		return settings->send_stall_ms;
	case CONN_WAIT:
	default:
		return 0;
	}
}

/* Lazy: a later deadline only changes the number, and the timer checks it when it fires. */
static void arm(struct conn *conn, uint64_t delay_ms)
{
	uint64_t due = uv_now(conn->http->loop) + delay_ms;

	if (!uv_is_active((uv_handle_t *)&conn->timer) ||
	    uv_timer_get_due_in(&conn->timer) > delay_ms)
		(void)uv_timer_start(&conn->timer, on_timer, delay_ms, 0);
	conn->deadline = due;
}

void conn_enter(struct conn *conn, enum conn_phase phase)
{
	const struct http_settings *settings = &conn->http->settings;
	uint32_t ms;

	/* One deadline for a whole head, however slowly it arrives. */
	if (phase == CONN_HEAD && conn->phase == CONN_HEAD)
		return;
	conn->phase = phase;
	ms = phase_ms(conn);
	if (phase == CONN_IDLE) {
		conn->idle_until = uv_now(conn->http->loop) + ms;
		ms = ms < settings->head_ms ? ms : settings->head_ms;
	}
	if (ms == 0)
		conn->deadline = 0;
	else
		arm(conn, ms);
}

/*
 * Only libmicrohttpd sees the first byte of a request. So that a client cannot spend all of idle_ms
 * on its first line, the kernel is asked now and then whether bytes have arrived.
 */
static void idle_tick(struct conn *conn)
{
	uint64_t now = uv_now(conn->http->loop);
	uint64_t left_ms = conn->idle_until > now ? conn->idle_until - now : 0;
	uint32_t head_ms = conn->http->settings.head_ms;
	uint64_t received = traffic_of(conn->fd).received;
	bool has_come = conn->received != RECEIVED_UNKNOWN && received > conn->received;

	conn->received = received;
	if (has_come)
		conn_enter(conn, CONN_HEAD);
	else if (left_ms == 0)
		conn_cut(conn);
	else
		arm(conn, left_ms < head_ms ? left_ms : head_ms);
}

static void on_timer(uv_timer_t *timer)
{
	struct conn *conn = timer->data;
	uint64_t now = uv_now(conn->http->loop);

	if (conn->deadline == 0)
		return;
	if (now < conn->deadline) {
		(void)uv_timer_start(&conn->timer, on_timer, conn->deadline - now, 0);
		return;
	}
	conn->deadline = 0;
	if (conn->is_cut)
		hang_up(conn);
	else if (conn->phase == CONN_IDLE)
		idle_tick(conn);
	else
		exchange_expire(conn);
}

/* ---- ending ---- */

bool conn_say(struct conn *conn)
{
	ssize_t n = send(conn->fd, conn->tail.data, conn->tail.size, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0)
		buf_consume(&conn->tail, (size_t)n);
	return conn->tail.size == 0;
}

void conn_finish(struct conn *conn)
{
	conn->is_cut = true;
	conn->is_unread = true;
	conn_enter(conn, CONN_BODY);
	conn_resume(conn);
}

/* Did libmicrohttpd close without an answer? It does for a first line without a space. */
static bool was_silent(const struct conn *conn)
{
	struct traffic traffic;

	if (conn->has_answered || conn->is_cut)
		return false;
	traffic = traffic_of(conn->fd);
	return traffic.sent == 0 && traffic.received > 0;
}

/* libmicrohttpd closes its descriptor next. Does the client need more time to read the answer? */
static void conn_part(struct conn *conn)
{
	char byte;
	ssize_t n = recv(conn->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
	bool is_open = n > 0 || (n < 0 && errno == EAGAIN);
	int fd;

	if (is_open && conn->tail.size == 0 && was_silent(conn)) {
		struct buf body;

		buf_init(&body, REFUSAL_MAX);
		answer_error(&body, MHD_HTTP_BAD_REQUEST, "this is not an HTTP request");
		answer_text(&conn->tail, MHD_HTTP_BAD_REQUEST, NULL, ANSWER_TYPE, &body, true);
		buf_done(&body);
	}
	if (n <= 0 && conn->tail.size == 0 && !(is_open && conn->is_unread))
		return;
	fd = fcntl(conn->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		linger_start(conn->http, &fd, &conn->tail);
}

static void on_closed(uv_handle_t *handle)
{
	struct conn *conn = handle->data;
	struct http *http = conn->http;

	if (--conn->handles == 0)
		free(conn);
	http_handle_closed(http);
}

static void conn_end(struct conn *conn)
{
	struct http *http = conn->http;

	TAILQ_REMOVE(&http->conns, conn, entry);
	http->conn_count--;
	uv_close((uv_handle_t *)&conn->watch, on_closed);
	uv_close((uv_handle_t *)&conn->timer, on_closed);
	if (!http->is_closing)
		conn_part(conn);
	buf_done(&conn->tail);
	conn->fd = -1;
}

void on_connection(void *user, struct MHD_Connection *mhd, void **context,
		   enum MHD_ConnectionNotificationCode what)
{
	struct http *http = user;

	http->progress++;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		http->opening->mhd = mhd;
		*context = http->opening;
		return;
	}
	conn_end(*context);
}

/* ---- beginning ---- */

/* The client has closed its end: it left, or only has nothing more to send. A hang-up of both
 * directions is certain: nobody will read an answer. */
static void on_watch(uv_poll_t *watch, int status, int events)
{
	struct conn *conn = watch->data;
	struct pollfd now = {.fd = conn->fd, .events = 0};

	(void)status;
	(void)events;
	(void)uv_poll_stop(watch);
	conn->is_left = true;
	if (conn->request != NULL)
		exchange_left(conn->request);
	/* libmicrohttpd itself watches a connection that is not suspended. */
	if (conn->is_suspended && poll(&now, 1, 0) == 1 && (now.revents & (POLLHUP | POLLERR)))
		conn_cut(conn);
}

static void peer_of(const struct sockaddr *from, struct in6_addr *ret_peer)
{
	if (from->sa_family == AF_INET6) {
		*ret_peer = ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
	} else if (from->sa_family == AF_INET) {
		/* In IPv6 form, so that a client is the same peer on either listener. */
		ret_peer->s6_addr16[5] = 0xffff;
		ret_peer->s6_addr32[3] =
			((const struct sockaddr_in *)(const void *)from)->sin_addr.s_addr;
	}
}

/* May this connection be closed to make room for another? An idle one loses nothing; for one whose
 * client has closed its end, nobody may be reading any more; connections without an owner go before
 * those with one. */
static bool is_spare(const struct conn *conn, bool is_stranger)
{
	return is_stranger || conn->is_left || conn->phase == CONN_IDLE || conn->phase == CONN_HEAD;
}

/* Makes room for one more connection: closes the spare one that has been idle longest, those
 * without an owner first. False: all of them are at work. */
static bool make_room(struct http *http)
{
	const struct http_settings *settings = &http->settings;
	bool has_owners = settings->owner_max < settings->connections_max;
	struct conn *conn, *stranger = NULL, *spare = NULL;
	uint32_t count = 0;

	if (http->conn_count < settings->connections_max)
		return true;
	TAILQ_FOREACH(conn, &http->conns, entry) {
		bool is_stranger = has_owners && conn->owner == NULL && !conn->is_unix;

		if (conn->is_cut)
			continue;
		count++;
		if (stranger == NULL && is_stranger)
			stranger = conn;
		if (spare == NULL && is_spare(conn, is_stranger))
			spare = conn;
	}
	if (http->conn_count + 1 >= settings->connections_max + CONN_CUT_MAX ||
	    (count >= settings->connections_max && spare == NULL))
		return false;
	if (count >= settings->connections_max)
		conn_cut(stranger != NULL ? stranger : spare);
	return true;
}

static void refuse(struct http *http, int *take_fd)
{
	static const char *const headers[] = {"Retry-After", "1", NULL};
	AUTO_BUF struct buf body = {.max = REFUSAL_MAX};
	AUTO_BUF struct buf text = {.max = REFUSAL_MAX};

	answer_error(&body, MHD_HTTP_SERVICE_UNAVAILABLE,
		     "too many connections; try again when some are closed");
	answer_text(&text, MHD_HTTP_SERVICE_UNAVAILABLE, headers, ANSWER_TYPE, &body, true);
	linger_start(http, take_fd, &text);
}

static struct conn *conn_new(struct http *http, int fd, const struct in6_addr *peer, bool is_unix)
{
	struct conn *conn = xnew(struct conn);

	conn->http = http;
	conn->fd = fd;
	conn->peer = *peer;
	conn->is_unix = is_unix;
	buf_init(&conn->tail, TAIL_MAX);
	if (uv_poll_init(http->loop, &conn->watch, fd) < 0) {
		free(conn);
		return NULL;
	}
	conn->handles = 2;
	conn->watch.data = conn->timer.data = conn;
	(void)uv_timer_init(http->loop, &conn->timer);
	http->handles += 2;
	http->conn_count++;
	TAILQ_INSERT_TAIL(&http->conns, conn, entry);
	return conn;
}

void conn_open(struct http *http, int *take_fd, const struct sockaddr *from, socklen_t from_size)
{
	AUTO_CLOSE int fd = steal_fd(take_fd);
	bool is_unix = from->sa_family != AF_INET && from->sa_family != AF_INET6;
	struct in6_addr peer = {0};
	const int unsent = UNSENT_MAX;
	struct err err = {0};
	struct conn *conn;
	int on = 1;

	peer_of(from, &peer);
	/* A sandbox must not connect here, however it got in. */
	if (is_unix && io_check_peer(fd, &err) < 0)
		return;
	if (!make_room(http)) {
		refuse(http, &fd);
		return;
	}
	/* Data that the client does not read stays with us, not in kernel buffers. */
	if (!is_unix) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	}
	conn = conn_new(http, fd, &peer, is_unix);
	if (conn == NULL)
		return;

	/* libmicrohttpd closes the descriptor on failure, too. */
	http->opening = conn;
	if (MHD_add_connection(http->daemon, steal_fd(&fd), from, from_size) != MHD_YES) {
		if (conn->mhd == NULL) {
			conn->is_cut = true;
			conn_end(conn);
		}
		return;
	}
	conn->phase = CONN_WAIT;
	conn_enter(conn, CONN_IDLE);
	(void)uv_poll_start(&conn->watch, UV_DISCONNECT, on_watch);
	http_wake(http);
}
