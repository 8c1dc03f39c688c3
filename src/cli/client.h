// SPDX-License-Identifier: Apache-2.0
/*
 * Client - requests to a running daemon
 *
 * Owns:    the way to the daemon (unix socket or TCP), the token, and every request on its way.
 * May not: know what a route means: paths and JSON are its callers'.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/config.h"

struct client;

/* Where to look: $VIVARIUM_URL, HTTP to HOST:PORT or unix:/PATH; else the daemon's unix socket as
 * the config names it; else, unless `is_local`, its first TCP address. */
struct client_where {
	const struct config *config; /* borrowed for the call */
	const char *token_file;      /* NULL: $VIVARIUM_TOKEN, or none */
	bool is_local;
};

/* Opens the way; nothing is sent yet. -ENOENT: there is none (only where is_local). */
int client_open(const struct client_where *where, struct client **ret_client, struct err *err);
void client_close(struct client *client);

/* As messages name it: "unix:/run/...". */
const char *client_address(const struct client *client);

/* Was it $VIVARIUM_URL that led here? */
bool client_is_asked(const struct client *client);

/* A descriptor to look at while a request is on its way. `fd` may change in any call; -1: none. */
struct client_watch {
	int fd; /* borrowed */
	void (*ready)(void *user);
	void *user;
};

struct client_call {
	const char *method;
	const char *path; /* "/v1/...", escaped where it must be */
	const char *json; /* the body; NULL: none, or `upload` */
	size_t json_size;
	int upload;              /* borrowed: the body is what this descriptor gives; 0: none */
	const char *upload_type; /* its Content-Type; NULL: application/octet-stream */

	/* What a success brings, as it comes; NULL: it is kept for ret_body. A negative errno ends
	 * the request. */
	int (*line)(void *user, const char *line, size_t size); /* asks for NDJSON */
	int (*bytes)(void *user, const void *bytes, size_t size);
	void *user;

	struct client_watch *watches; /* borrowed */
	size_t watch_count;
};

/* Sends it and waits for the end of the answer. What the daemon refuses is the error it names. */
int client_call(struct client *client, const struct client_call *call, struct buf *ret_body,
		struct err *err);

/* The same for JSON: `take_body` may be NULL (no body). The answer is NULL after an error, or
 * json_null() when it is empty. */
json_t *client_json(struct client *client, const char *method, const char *path, json_t *take_body,
		    struct err *err);

/* Sends a request beside the one that is on its way, from one of its calls. `method` is a literal.
 * `done` (may be NULL) follows, unless the other one ends first: this one ends with it. */
void client_aside(struct client *client, const char *method, const char *path, json_t *take_body,
		  void (*done)(void *user, const struct err *why), void *user);

/* Ends the request that is waited for: client_call returns -ECANCELED. */
void client_stop(struct client *client);

/* Appends a path segment or a value of a query, escaped; with `keep_slashes` a whole path. */
void client_put_escaped(struct buf *buf, const char *text, bool keep_slashes);
