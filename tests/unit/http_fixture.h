// SPDX-License-Identifier: Apache-2.0
/*
 * Http fixture - a server and its clients in one loop, on loopback and a unix socket
 *
 * Owns:    a server whose path says what it does with a request, plain sockets that send bytes as
 *          they are and collect what comes back, and the wait for something to become true.
 * May not: understand HTTP on the client's side: tests look at the bytes.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/c.h"
#include "http/http.h"
#include "unit.h"

#define LATE_MS 20000
#define CRLF "\r\n"
#define HOST "Host: test" CRLF
#define GET(path) "GET " path " HTTP/1.1" CRLF HOST CRLF

struct server {
	uv_loop_t loop;
	uv_timer_t late;
	struct http *http;
	char directory[64];
	in_port_t port;
	char unix_path[80];

	struct http_request *request; /* the last one told, until it is gone */
	char events[512]; /* h: head, b: body, c: complete, l: left, g / G: gone (sent) */
	struct buf body;
	size_t take;       /* how much of a piece `body` takes; 0: all */
	size_t largest;    /* piece of a body */
	struct buf source; /* what a stream still has to give */
	size_t endless;    /* bytes a stream gives on top of it */
	bool is_source_ended;
	bool is_source_broken;
	unsigned source_closed;
	unsigned idle; /* http_drain's call */
	bool is_late;
};

struct client {
	struct server *server;
	int fd;
	uv_poll_t poll;
	struct buf got;
	bool is_ended; /* end of file */
	bool is_reset;
};

/* ---- the server ---- */

static inline void note(struct server *server, char event)
{
	size_t n = strlen(server->events);

	if (n + 1 < sizeof(server->events)) {
		server->events[n] = event;
		server->events[n + 1] = '\0';
	}
}

static inline void answer(struct http_request *request, unsigned status, const char *text)
{
	static const char *const headers[] = {"X-Test", "yes", NULL};
	struct buf body;

	buf_init(&body, 64 * MIB);
	assert_int_equal(buf_text(&body, text), 0);
	http_reply(request, status, headers, "text/plain", &body);
	assert_null(body.data);
}

static inline int64_t source_read(void *user, void *data, size_t room)
{
	struct server *server = user;
	size_t n = server->source.size < room ? server->source.size : room;

	if (server->is_source_broken)
		return -2;
	if (n > 0) {
		memcpy(data, server->source.data, n);
		buf_consume(&server->source, n);
		return (int64_t)n;
	}
	n = server->endless < room ? server->endless : room;
	if (n > 0) {
		memset(data, 'x', n);
		server->endless -= n;
		return (int64_t)n;
	}
	return server->is_source_ended ? -1 : 0;
}

static inline void source_close(void *user)
{
	struct server *server = user;

	server->source_closed++;
}

static inline void stream(struct server *server, struct http_request *request, int64_t size)
{
	const struct http_source source = {source_read, source_close, server};

	http_stream(request, 200, NULL, "text/plain", size, &source);
}

static inline bool is_path(const struct http_request *request, const char *path)
{
	return strcmp(http_path(request), path) == 0;
}

static inline void on_head(void *user, struct http_request *request)
{
	static const char owners[] = "ab";
	struct server *server = user;
	const char *owner = http_header(request, "Owner");

	note(server, 'h');
	server->request = request;
	server->body.size = 0;
	http_set_user(request, server);
	if (owner != NULL && !http_own(request, strchr(owners, owner[0])))
		answer(request, 429, "one too many");
	if (is_path(request, "/refuse"))
		answer(request, 403, "refused in the head");
	if (is_path(request, "/stream-early"))
		stream(server, request, -1);
}

static inline size_t on_body(void *user, struct http_request *request, const void *data,
			     size_t size)
{
	struct server *server = user;
	size_t n = server->take > 0 && server->take < size ? server->take : size;

	note(server, 'b');
	server->largest = size > server->largest ? size : server->largest;
	if (is_path(request, "/hold") && server->take == 0)
		return 0;
	if (is_path(request, "/refuse-body")) {
		answer(request, 413, "refused in the body");
		return size;
	}
	if (is_path(request, "/stream-body"))
		stream(server, request, -1);
	assert_int_equal(buf_append(&server->body, data, n), 0);
	if (n < size && is_path(request, "/sip"))
		http_resume(request);
	return n;
}

static inline void on_complete(void *user, struct http_request *request)
{
	struct server *server = user;

	note(server, 'c');
	assert_ptr_equal(http_user(request), server);
	if (is_path(request, "/now")) {
		answer(request, 200, "hello");
	} else if (is_path(request, "/echo") || is_path(request, "/sip")) {
		static const char *const none[] = {NULL};
		struct buf body;

		buf_init(&body, 64 * MIB);
		assert_int_equal(buf_append(&body, server->body.data, server->body.size), 0);
		http_reply(request, 200, none, "application/octet-stream", &body);
	} else if (is_path(request, "/stream")) {
		stream(server, request, -1);
	}
}

static inline void on_gone(void *user, struct http_request *request, bool is_sent)
{
	struct server *server = user;

	note(server, is_sent ? 'G' : 'g');
	if (server->request == request)
		server->request = NULL;
}

static inline void on_left(void *user, struct http_request *request)
{
	(void)request;
	note(user, 'l');
}

static inline void on_late(uv_timer_t *timer)
{
	struct server *server = timer->data;

	server->is_late = true;
}

static inline void server_start(struct server *server, const struct http_settings *settings)
{
	static const struct http_calls calls = {on_head, on_body, on_complete, on_gone, on_left};
	struct err err = {0};
	struct buf bound;
	char address[160];

	*server = (struct server){0};
	buf_init(&bound, 4096);
	buf_init(&server->body, 64 * MIB);
	buf_init(&server->source, 64 * MIB);
	scratch_make(server->directory);
	assert_int_equal(uv_loop_init(&server->loop), 0);
	(void)uv_timer_init(&server->loop, &server->late);
	server->late.data = server;
	assert_ok(http_new(&server->loop, settings, &calls, server, &server->http, &err), err);
	assert_ok(http_listen(server->http, "127.0.0.1:0", &bound, &err), err);
	server->port = (in_port_t)strtoul(strrchr(buf_string(&bound), ':') + 1, NULL, 10);
	(void)snprintf(server->unix_path, sizeof(server->unix_path), "%s/socket",
		       server->directory);
	(void)snprintf(address, sizeof(address), "unix:%s", server->unix_path);
	assert_ok(http_listen(server->http, address, NULL, &err), err);
	buf_done(&bound);
}

static inline void server_stop(struct server *server)
{
	http_close(server->http);
	uv_close((uv_handle_t *)&server->late, NULL);
	assert_int_equal(uv_run(&server->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&server->loop), 0);
	buf_done(&server->body);
	buf_done(&server->source);
	scratch_remove(server->directory);
}

/* Runs the loop until `condition` holds; fails with what was asked when it never does. */
#define WAIT(server, condition)                                                                    \
	do {                                                                                       \
		(server)->is_late = false;                                                         \
		(void)uv_timer_start(&(server)->late, on_late, LATE_MS, 0);                        \
		while (!(condition)) {                                                             \
			(void)uv_run(&(server)->loop, UV_RUN_ONCE);                                \
			if ((server)->is_late)                                                     \
				fail_msg("never: %s; events: %s", #condition, (server)->events);   \
		}                                                                                  \
		(void)uv_timer_stop(&(server)->late);                                              \
	} while (0)

/* Lets everything happen that is due by now. */
static inline void settle(struct server *server)
{
	for (int i = 0; i < 10; i++)
		(void)uv_run(&server->loop, UV_RUN_NOWAIT);
}

/* ---- the client ---- */

/* To the end of what is there: after an error the loop does not call again. */
static inline void on_client(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;
	char bytes[65536];
	ssize_t n;

	(void)status;
	(void)events;
	while ((n = recv(client->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		assert_int_equal(buf_append(&client->got, bytes, (size_t)n), 0);
	if (n < 0 && errno == EAGAIN)
		return;
	client->is_ended = n == 0;
	client->is_reset = n < 0;
	(void)uv_poll_stop(poll);
}

static inline void client_read(struct client *client)
{
	(void)uv_poll_start(&client->poll, UV_READABLE, on_client);
}

static inline void client_watch(struct client *client, struct server *server, int fd)
{
	*client = (struct client){.server = server, .fd = fd};
	assert_true(fd >= 0);
	buf_init(&client->got, 256 * MIB);
	assert_int_equal(uv_poll_init(&server->loop, &client->poll, fd), 0);
	client->poll.data = client;
	client_read(client);
}

static inline void client_connect(struct client *client, struct server *server)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server->port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	client_watch(client, server, fd);
}

static inline void client_connect_unix(struct client *client, struct server *server)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", server->unix_path);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	client_watch(client, server, fd);
}

static inline void client_send_bytes(struct client *client, const void *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = send(client->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			(void)uv_run(&client->server->loop, UV_RUN_NOWAIT);
			continue;
		}
		assert_true(n > 0);
		bytes = (const char *)bytes + n;
		size -= (size_t)n;
	}
}

static inline void client_send(struct client *client, const char *text)
{
	client_send_bytes(client, text, strlen(text));
}

static inline bool client_has(struct client *client, const char *text)
{
	return strstr(buf_string(&client->got), text) != NULL;
}

static inline bool client_is_over(const struct client *client)
{
	return client->is_ended || client->is_reset;
}

/* Its handle is given back to the loop by the next turn. */
static inline void client_close(struct client *client)
{
	uv_close((uv_handle_t *)&client->poll, NULL);
	drop_fd(&client->fd);
	(void)uv_run(&client->server->loop, UV_RUN_NOWAIT);
	buf_done(&client->got);
}

/* One request on a new connection; what comes back must have `expect` in it. */
static inline void ask(struct server *server, const char *request, const char *expect)
{
	struct client client;

	client_connect(&client, server);
	client_send(&client, request);
	WAIT(server, client_has(&client, expect) || client_is_over(&client));
	assert_contains(buf_string(&client.got), expect);
	client_close(&client);
}
