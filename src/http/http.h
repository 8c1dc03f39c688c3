// SPDX-License-Identifier: Apache-2.0
/*
 * Http - the transport: requests in, bodies both ways, over libmicrohttpd in the libuv loop
 *
 * Owns:    sockets, connections, their limits (headers, count, idle and slow clients), strict
 *          message framing (no two lengths, no length with chunks), back-pressure both ways.
 * May not: know a route, a token or an op; nor keep more than one buffer of a body.
 *
 * One exchange is one struct http_request. Its life: `head` (headers are there), `body` for each
 * piece, `complete`, then exactly one answer by http_reply or http_stream, at once or later; `gone`
 * is the last call, whether the answer was sent or the client went away.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/err.h"

struct http;
struct http_request;

struct http_calls {
	/* The headers are complete. An answer given in here or before `complete` ends the exchange:
	 * the rest of the body is not read. */
	void (*head)(void *user, struct http_request *request);

	/* A piece of the body. Returns how much of it was taken; less than `size` holds the client
	 * back until http_resume. */
	size_t (*body)(void *user, struct http_request *request, const void *data, size_t size);

	/* All of the body was taken. */
	void (*complete)(void *user, struct http_request *request);

	/* The last call: the answer is out (is_sent) or the client went away. */
	void (*gone)(void *user, struct http_request *request, bool is_sent);

	/* The client closed its end while we still owe it an answer (it may only have nothing more
	 * to send). `gone` follows once the answer was tried, or at once when the client has
	 * certainly left: a reset, or a unix socket closed for good. May be NULL. */
	void (*left)(void *user, struct http_request *request);
};

/* 0 in a member means its default. */
struct http_settings {
	uint32_t connections_max; /* default 1024; one more replaces an idle one, or is answered 503
				   * and closed */
	uint32_t owner_max;       /* connections of one owner (http_own); default connections_max */
	uint32_t idle_ms;         /* a connection without a request; default 60 s */
	uint32_t head_ms;         /* from its first byte to the end of its headers; default 10 s */
	uint32_t body_stall_ms;   /* no byte of a body for this long; default 30 s */
	uint32_t send_stall_ms;   /* a client that takes no byte for this long; default 120 s */
	size_t header_max;        /* bytes of request line and headers; default 16 KiB */
	uint64_t held_max;        /* bytes of unread answers; default 256 MiB */
	uint64_t owner_held_max;  /* ... of one owner; default held_max */
};

/*
 * Makes a server that listens nowhere yet. Input that is not a message, or that two readers could
 * read differently, is answered here (400, 408, 413, 414, 417, 431, 501, 503, 505) and never
 * becomes a request. `settings` may be NULL.
 */
int http_new(uv_loop_t *loop, const struct http_settings *settings, const struct http_calls *calls,
	     void *user, struct http **ret_http, struct err *err);

/* Where to listen: an address of the config, or a socket that systemd passed.
 *
 * "127.0.0.1:7878", "[::1]:7878", "localhost:7878", ":7878" (all addresses), "unix:/path" (0660, an
 * old dead socket at that path is replaced, a live one is -EADDRINUSE). Port 0 picks one; the
 * address bound is in *ret_bound (may be NULL). */
int http_listen(struct http *http, const char *address, struct buf *ret_bound, struct err *err);

/* A socket that already listens (systemd). Consumes it. */
int http_listen_fd(struct http *http, int *take_fd, struct err *err);

/* Can only this machine reach the address (unix: and loopback)? -EINVAL: not an address. */
int http_is_local(const char *address, bool *ret_is_local, struct err *err);

/* Accepts no new connections or requests; those at work go on. Calls `idle` once nothing is
 * left. */
void http_drain(struct http *http, void (*idle)(void *user), void *user);

/* Closes everything; the only calls after this are `gone` of open exchanges, made from inside it.
 * The loop frees the memory. Must not be called from inside one of the calls. Accepts NULL. */
void http_close(struct http *http);

uint32_t http_connections(const struct http *http);

/* ---- one exchange ---- */

void http_set_user(struct http_request *request, void *user); /* the caller's own pointer */
void *http_user(const struct http_request *request);

const char *http_method(const struct http_request *request);
const char *http_path(const struct http_request *request); /* as sent, without the query */
const char *http_query(const struct http_request *request,
		       const char *name); /* decoded; NULL: none */

/* Calls `each` for every query parameter, until it returns false. */
void http_each_query(const struct http_request *request,
		     bool (*each)(void *user, const char *name, const char *value), void *user);
const char *http_header(const struct http_request *request, const char *name); /* NULL: none */

/* Is there more than one header of that name? Readers differ in which one they use. */
bool http_header_is_twice(const struct http_request *request, const char *name);

/* Sets the owner of the request and of its connection; call it from inside `head`. NULL: no owner.
 * False: the owner has as many connections as it may; the answer ends this one. */
bool http_own(struct http_request *request, const void *owner);

/* Bytes announced for the body; -1: chunked; 0: none. */
int64_t http_body_size(const struct http_request *request);

/* The client's address, numeric, for access and audit; "unix" over a unix socket. `size`: at least
 * INET6_ADDRSTRLEN. */
void http_peer(const struct http_request *request, char *ret_text, size_t size);
bool http_is_unix(const struct http_request *request); /* came over a unix socket */
bool http_peer_uid(const struct http_request *request, uid_t *ret_uid); /* of a unix peer */

/* Says that more can be taken, after `body` took less than it was given. May be called from inside
 * `body`. */
void http_resume(struct http_request *request);

/* Sends a whole answer. `headers`: name, value, name, value ..., NULL; may be NULL. Consumes
 * `body`. Becomes a 503 where too much already waits for clients (held_max). */
void http_reply(struct http_request *request, unsigned status, const char *const *headers,
		const char *type, struct buf *take_body);

/* Counts `size` bytes held in memory for this answer until it is read; http_reply counts its body
 * itself, a source says what it holds. False: it is counted, but exceeds the limit in all or of its
 * owner. Small answers are not counted: connections_max bounds them. */
bool http_hold(struct http_request *request, uint64_t size);

/* An answer in pieces. `read` gives at most `room` bytes: > 0 a count, 0 nothing now (http_ready
 * follows), -1 the end, -2 broken off (the connection is cut, so that the client cannot mistake it
 * for complete). `size`: bytes in all, or -1 for chunks. */
struct http_source {
	int64_t (*read)(void *user, void *data, size_t room);
	void (*close)(void *user); /* once, after the last read; before `gone` */
	void *user;
};

void http_stream(struct http_request *request, unsigned status, const char *const *headers,
		 const char *type, int64_t size, const struct http_source *source);

/* The source has something to read, or has ended. Cheap; may be called at any time. */
void http_ready(struct http_request *request);
