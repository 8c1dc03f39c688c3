// SPDX-License-Identifier: Apache-2.0
/*
 * Http - the transport: requests in, bodies both ways, over libmicrohttpd in the libuv loop
 *
 * Owns:    sockets, connections, their limits (headers, count, idle and slow clients), the strict
 *          reading of what makes a message (no two lengths, no length beside chunks), back-pressure
 *          both ways.
 * May not: know a route, a token or an op; nor keep more of a body than one buffer of it.
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
	/* Headers are there. An answer given in here or before `complete` ends the exchange: the
	 * rest of the body is not read. */
	void (*head)(void *user, struct http_request *request);

	/* A piece of the body. Returns how much of it was taken; less than `size` holds the client
	 * back until http_resume. */
	size_t (*body)(void *user, struct http_request *request, const void *data, size_t size);

	/* All of the body was taken. */
	void (*complete)(void *user, struct http_request *request);

	/* The last call: the answer is out (is_sent) or the client went away. */
	void (*gone)(void *user, struct http_request *request, bool is_sent);

	/* The client closed its end while we still owe it an answer (it may only have nothing more
	 * to say). `gone` follows when the answer was tried, or at once when the client is surely
	 * gone: a reset, or a unix socket closed for good. May be NULL. */
	void (*left)(void *user, struct http_request *request);
};

/* 0 in a member means its default. */
struct http_settings {
	uint32_t connections_max; /* default 1024; one more takes the place of one that rests, or is
				     answered 503 and closed */
	uint32_t owner_max;       /* connections of one owner (http_own); default connections_max */
	uint32_t idle_ms;         /* a connection without a request; default 60 s */
	uint32_t head_ms;         /* from its first byte to the end of its headers; default 10 s */
	uint32_t body_stall_ms;   /* no byte of a body for this long; default 30 s */
	uint32_t send_stall_ms;   /* a client that takes no byte for this long; default 120 s */
	size_t header_max;        /* bytes of request line and headers; default 16 KiB */
	uint64_t held_max;        /* bytes of answers that were not read yet; default 256 MiB */
	uint64_t owner_held_max;  /* of those of one owner; default held_max */
};

/*
 * A server that listens nowhere yet. What is no message, or one that two readers could read
 * differently, is answered here (400, 408, 413, 414, 417, 431, 501, 503, 505) and never becomes a
 * request. `settings` may be NULL.
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

/* Is this address one that only this machine can reach? unix: and loopback. -EINVAL: no address. */
int http_is_local(const char *address, bool *ret_is_local, struct err *err);

/* No new connections or requests; those at work go on. `idle` is called once nothing is left. */
void http_drain(struct http *http, void (*idle)(void *user), void *user);

/* Closes everything; no call comes after this but `gone` of open exchanges, from inside it. The
 * loop gives the memory back. Not from inside one of the calls. Accepts NULL. */
void http_close(struct http *http);

uint32_t http_connections(const struct http *http);

/* ---- one exchange ---- */

void http_set_user(struct http_request *request, void *user); /* the caller's own, for its calls */
void *http_user(const struct http_request *request);

const char *http_method(const struct http_request *request);
const char *http_path(const struct http_request *request); /* as sent, without the query */
const char *http_query(const struct http_request *request,
		       const char *name); /* decoded; NULL: none */

/* Every query parameter once; stops when `each` returns false. */
void http_each_query(const struct http_request *request,
		     bool (*each)(void *user, const char *name, const char *value), void *user);
const char *http_header(const struct http_request *request, const char *name); /* NULL: none */

/* Says whose it is, and its connection with it: from inside `head`. NULL: nobody's in particular.
 * False: its owner has as many connections as it may; the answer ends this one. */
bool http_own(struct http_request *request, const void *owner);

/* Bytes announced for the body; -1: chunked; 0: none. */
int64_t http_body_size(const struct http_request *request);

/* The client's address, numeric, for access and audit; "unix" over a unix socket. `size`: at least
 * INET6_ADDRSTRLEN. */
void http_peer(const struct http_request *request, char *ret_text, size_t size);
bool http_is_unix(const struct http_request *request); /* came over a unix socket */
bool http_peer_uid(const struct http_request *request, uid_t *ret_uid); /* of a unix peer */

/* After `body` took less than it was given: it can take more. May be called from inside `body`. */
void http_resume(struct http_request *request);

/* The answer, whole. `headers`: name, value, name, value ..., NULL; may be NULL. Consumes `body`.
 * It becomes a 503 where too much waits for clients already (held_max). */
void http_reply(struct http_request *request, unsigned status, const char *const *headers,
		const char *type, struct buf *take_body);

/* What is held in memory for this answer until it was read, in bytes; http_reply counts its body
 * itself, a source says what it has. False: it is counted, and more than there may be in all, or of
 * its owner. What is small is not counted: connections_max bounds it. */
bool http_hold(struct http_request *request, uint64_t size);

/* An answer in pieces. `read` gives at most `room` bytes: > 0 a count, 0 nothing now (http_ready
 * follows), -1 the end, -2 broken off (the connection is cut so that nobody takes it for whole).
 * `size`: bytes in all, or -1 for chunks. */
struct http_source {
	int64_t (*read)(void *user, void *data, size_t room);
	void (*close)(void *user); /* once, when no read comes any more; before `gone` */
	void *user;
};

void http_stream(struct http_request *request, unsigned status, const char *const *headers,
		 const char *type, int64_t size, const struct http_source *source);

/* The source has something to read, or has ended. Cheap; may be called at any time. */
void http_ready(struct http_request *request);
