// SPDX-License-Identifier: Apache-2.0
/*
 * Client - requests to a running daemon
 *
 * Owns:    the daemon's address (unix socket or TCP), the token, and every request in flight.
 * May not: know what a route means: paths and JSON belong to the callers.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/config.h"

struct client;
struct client_request;

/* Where to look for a daemon: $VIVARIUM_URL (HTTP to HOST:PORT, or unix:/PATH); else a unix socket
 * that the config names; else, unless `is_local`, the config's first TCP address. */
struct client_where {
	const struct config *config; /* borrowed for the call */
	const char *token_file;      /* NULL: $VIVARIUM_TOKEN, or none */
	bool is_local;
	const char *socket; /* the only socket to use; NULL: search as above */
};

/* Finds the daemon's address; sends nothing yet. -ENOENT: no usable address. */
int client_open(const struct client_where *where, struct client **ret_client, struct err *err);
void client_close(struct client *client);

/* The address as messages show it: "unix:/run/...". */
const char *client_address(const struct client *client);

/* True when the address came from $VIVARIUM_URL. */
bool client_is_asked(const struct client *client);

/* A descriptor to poll while requests are in flight. A callback may change `fd`; -1: none. */
struct client_watch {
	int fd; /* borrowed */
	void (*ready)(void *user);
	void *user;
	bool is_for_end; /* `ready` is called only when the other end hangs up */
};

struct client_call {
	const char *method;
	const char *path; /* "/v1/...", escaped where it must be */
	const char *json; /* the body; NULL: none, or `upload` */
	size_t json_size;
	int upload;              /* borrowed: descriptor from which the body is read; 0: none */
	const char *upload_type; /* its Content-Type; NULL: application/octet-stream */

	/* Receive the body of a success as it comes; if both are NULL it is kept for ret_body. A
	 * negative errno ends the request. */
	int (*line)(void *user, const char *line, size_t size); /* asks for NDJSON */
	int (*bytes)(void *user, const void *bytes, size_t size);
	void (*header)(void *user, const char *line, size_t size); /* of the answer; may be NULL */
	void (*done)(void *user, const struct err *why); /* client_send only; may be NULL */
	void *user;

	/* More headers of the request, each ended by a newline; NULL: none. */
	const char *headers;

	/* The request is forwarded for another client: Vivarium-Client and Vivarium-Approve are not
	 * added, and an HTTP error is passed on like any other answer. */
	bool is_carried;

	struct client_watch *watches; /* borrowed; client_call only */
	size_t watch_count;
};

/* Sends a request and waits for the end of the answer. A refusal becomes `err`, with the daemon's
 * kind and message. */
int client_call(struct client *client, const struct client_call *call, struct buf *ret_body,
		struct err *err);

/* The same for JSON: `take_body` may be NULL (no body). Returns NULL after an error, json_null()
 * for an empty answer. */
json_t *client_json(struct client *client, const char *method, const char *path, json_t *take_body,
		    struct err *err);

/* True if this line of an answer's head is the header `name`, which ends with a colon. The value is
 * borrowed, without the white space around it. */
bool client_header_is(const char *line, size_t size, const char *name, const char **ret_value,
		      size_t *ret_size);

/* ---- requests that nobody waits for ---- */

/* Sends a request beside those in flight; may be called from their callbacks. `take_json` is the
 * body (`call->json`) if it is to be freed with the request; NULL: the caller keeps it, or there is
 * none. The request is freed after `done`; when client_call returns, it has dropped all others. */
struct client_request *client_send(struct client *client, const struct client_call *call,
				   char *take_json);

/* The same for JSON. */
void client_aside(struct client *client, const char *method, const char *path, json_t *take_body,
		  void (*done)(void *user, const struct err *why), void *user);

long client_request_status(const struct client_request *request); /* 0: no answer yet */

/* Aborts a request without calling `done`. Not to be called from the request's own `done`. Accepts
 * NULL. */
void client_request_free(struct client_request *request);

/* client_work does what can be done without waiting. client_wait waits, for at most `wait_ms`, for
 * network activity or a ready descriptor, and calls `ready` of the latter. */
void client_work(struct client *client);
void client_wait(struct client *client, const struct client_watch *watches, size_t count,
		 int wait_ms);

/* Makes client_call return -ECANCELED. */
void client_stop(struct client *client);

/* Appends a path segment or a query value, percent-encoded; with `keep_slashes` a whole path. */
void client_put_escaped(struct buf *buf, const char *text, bool keep_slashes);
