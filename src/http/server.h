// SPDX-License-Identifier: Apache-2.0
/*
 * Server - what the files of this folder share: the server, its connections and their exchanges
 *
 * Owns:    the three structs and who may change which member of them.
 * May not: be included from outside src/http: others know http.h.
 *
 * libmicrohttpd reads and writes the sockets and frames messages; http.c decides when it runs, and
 * calls it from the loop, never from inside one of its own callbacks. All its callbacks are in
 * exchange.c (a request) or conn.c (a connection).
 */
#pragma once

#include <microhttpd.h>
#include <stdarg.h>

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "http/http.h"

struct http {
	uv_loop_t *loop; /* borrowed: outlives us */
	struct http_settings settings;
	struct http_calls calls;
	void *user;
	struct MHD_Daemon *daemon; /* owned */

	uv_poll_t poll;       /* libmicrohttpd's epoll */
	uv_prepare_t prepare; /* both run it once more when an answer was given in this turn */
	uv_check_t check;
	uv_timer_t again;  /* it has work left that no descriptor reports */
	uv_timer_t accept; /* out of descriptors: listen again after a moment */
	unsigned handles;  /* open handles of the loop; the last one frees us */

	TAILQ_HEAD(, listener) listeners;
	TAILQ_HEAD(, conn) conns; /* the most recently active one last */
	TAILQ_HEAD(, lingering) lingers;
	struct conn *opening;  /* borrowed: while libmicrohttpd takes it */
	uint32_t conn_count;   /* of `conns` */
	uint32_t linger_count; /* of `lingers` */
	uint64_t held;         /* bytes of all answers */

	uint64_t progress; /* counts its calls to us: no change means that it waits */
	unsigned stuck;
	bool is_dirty;
	bool is_running;
	bool is_draining;
	bool is_closing;
	void (*idle)(void *user);
	void *idle_user;
};

enum conn_phase {
	CONN_IDLE, /* between requests */
	CONN_HEAD, /* the request line has arrived, its headers have not */
	CONN_BODY, /* the client is sending */
	CONN_WAIT, /* we are at work, or hold the client back: no deadline */
	CONN_SEND, /* the client is reading */
};

#define RECEIVED_UNKNOWN UINT64_MAX
#define CONN_CUT_MAX 64U /* above connections_max: cut, and still with libmicrohttpd */

struct conn {
	TAILQ_ENTRY(conn) entry;
	struct http *http;
	struct MHD_Connection *mhd;   /* borrowed: until on_connection says it is closed */
	struct http_request *request; /* the current one, or NULL; owned by exchange.c */
	int fd;                       /* borrowed: libmicrohttpd closes it */
	struct in6_addr peer;         /* zeros: a unix socket */
	bool is_unix;
	const void *owner; /* borrowed, never dereferenced: owner of its last request */

	uv_poll_t watch; /* notices a client that leaves while nothing reads */
	uv_timer_t timer;
	unsigned handles;
	enum conn_phase phase;
	uint64_t deadline; /* of the phase, in the loop's time; 0: none */
	uint64_t idle_until;
	uint64_t received; /* bytes at the last check in CONN_IDLE */

	bool is_suspended;
	bool is_left;   /* the client closed its end */
	bool is_cut;    /* we are done with it; libmicrohttpd is told at its next call */
	bool is_unread; /* it was answered before all of its body was read */
	bool has_answered;
	struct buf tail; /* bytes that we write ourselves, finished after libmicrohttpd closed */
};

struct http_request {
	struct conn *conn;
	void *user;
	const char *method; /* borrowed: libmicrohttpd's, until on_completed */
	const char *raw;    /* borrowed: the target in its buffer */
	char *target;       /* owned: as sent; the path ends at `query` */
	size_t target_size;
	const char *query; /* in `target`, after the '?'; or NULL */
	char **pairs;      /* owned: decoded name, value, ..., NULL; made on first use */
	int64_t body_size;

	struct MHD_Response *answer; /* owned */
	unsigned status;
	struct buf whole;          /* a large answer, sent in pieces */
	struct http_source source; /* `read` is NULL: none, or closed */
	uint64_t left;             /* bytes left of a source of known size */
	uint64_t discarded;
	uint64_t held; /* bytes of the answer, as counted */

	bool is_told;     /* the caller knows this request, so it gets `gone` */
	bool is_answered; /* once only */
	bool is_queued;
	bool is_complete;
	bool is_sized;
	bool is_old;     /* HTTP/1.0: its body may end with the connection */
	bool is_calling; /* inside one of libmicrohttpd's calls for it */
	bool is_in_body; /* inside `body` */
	bool is_held;    /* `body` took less than there was */
	bool is_starved; /* the source had nothing */
	bool is_woken;   /* http_resume or http_ready came while we were inside the call */
	bool is_left_told;
	bool is_one_too_many; /* its owner has too many connections */
	bool is_tail_sent;    /* answered by ourselves, and the kernel has taken it */
};

/* held.c: an answer that does not fit becomes a 503, with its headers. */
struct held_headers {
	const char *items[32];
};
unsigned held_refuse(const char *const *headers, struct held_headers *ret_headers,
		     struct buf *take_body);

/* Runs libmicrohttpd before the loop sleeps again. */
void http_wake(struct http *http);

/* For each handle counted in `handles`: the last one to close frees the server. */
void http_handle_closed(struct http *http);

/* Accepts a connection from a listener, or refuses it with 503. Consumes the descriptor. */
void conn_open(struct http *http, int *take_fd, const struct sockaddr *peer, socklen_t peer_size);

/* Starts the deadline of a phase. */
void conn_enter(struct conn *conn, enum conn_phase phase);

/* Suspends libmicrohttpd on this connection, from inside one of its calls; resumes it. */
void conn_suspend(struct conn *conn);
void conn_resume(struct conn *conn);

/* Writes as much of `tail` as the kernel takes now; true when that was all. */
bool conn_say(struct conn *conn);

/* Gives up a connection: both of its ends are closed now. */
void conn_cut(struct conn *conn);

/* Finishes a connection that we have answered ourselves: the rest of `tail` is written, and the
 * client has the time of a stalled body to stop sending. */
void conn_finish(struct conn *conn);

/* libmicrohttpd's callbacks. */
void on_connection(void *user, struct MHD_Connection *mhd, void **context,
		   enum MHD_ConnectionNotificationCode what);
void *on_target(void *user, const char *target, struct MHD_Connection *mhd);
enum MHD_Result on_request(void *user, struct MHD_Connection *mhd, const char *url,
			   const char *method, const char *version, const char *data, size_t *size,
			   void **context);
void on_completed(void *user, struct MHD_Connection *mhd, void **context,
		  enum MHD_RequestTerminationCode why);
void on_message(void *user, const char *format, va_list args);

void request_free(struct http_request *request);

/* The client of this exchange closed its end. */
void exchange_left(struct http_request *request);

/* The deadline of a phase has passed: answers 408 if no answer has begun, and ends the
 * connection. */
void exchange_expire(struct conn *conn);
