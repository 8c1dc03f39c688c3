// SPDX-License-Identifier: Apache-2.0
/*
 * Exchange - one request, whichever door it came through, and its one answer
 *
 * Owns:    the request, its body, its caller, the ops it asks, the answer, and their memory.
 * May not: know any door. Host, Origin, tokens, body sizes, memory and slow readers are dealt with
 *          here, for all doors alike.
 *
 * Its life: the route table has a row for it; Host, Origin and the token are checked; `begin` of
 * the row may refuse it before its body is read; the body comes; `run` is called and answers at
 * once or later, whole or as a stream. An answer is due even if the client has left, and is dropped
 * then.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>

#include "api/door.h"
#include "api/parts.h"
#include "api/route.h"
#include "api/router.h"
#include "api/scan.h"
#include "base/buf.h"
#include "base/err.h"
#include "op/ask.h"
#include "op/op.h"

#define EXCHANGE_JSON_MAX (1U << 20)   /* bytes of JSON that may become a tree */
#define EXCHANGE_QUEUE_MAX (64U << 20) /* bytes that a client may leave unread */
#define EXCHANGE_HEADERS_MAX 20

struct exchange_memory;

struct exchange_header {
	char *name, *value; /* owned */
};

/* Valid until `ended`. */
struct exchange {
	const struct door *door;
	const struct door_route *route; /* NULL while an unknown path is refused */
	void *state;                    /* from the door's open() */
	struct engine *engine;          /* borrowed */
	struct op_caller caller;
	uint32_t retry_after_s; /* for a 429 or 503, as the last ask had it; 0: soon */

	struct ask *ask; /* borrowed: the last one, until it is done; NULL: none */

	/* For the handler. */
	void *user;
	void (*left)(struct exchange *exchange);    /* the client closed its end, or is gone */
	void (*drained)(struct exchange *exchange); /* a full queue has room or lost its reader */
	void (*ended)(struct exchange *exchange);   /* the last callback: free what is yours */

	/* From here on only for the files of api/. */
	struct router *router;
	struct http_request *request; /* borrowed; NULL: the transport is done with it */
	struct route match;
	struct scan *scan;               /* owned: a body with members; NULL: none yet */
	struct parts parts;              /* a body without members, as it came */
	json_t *tree;                    /* owned: of a whole body */
	json_t *trees[SCAN_MEMBERS_MAX]; /* owned: of small members */
	struct exchange_memory *memory;  /* owned */
	struct exchange_header headers[EXCHANGE_HEADERS_MAX];
	size_t header_count;
	char *origin; /* owned: an allowed Origin, to be sent back; NULL: none */
	char peer[INET6_ADDRSTRLEN];
	struct router_held held; /* our part of the memory of all bodies */
	uint64_t kept;           /* our part of router->kept */
	uint64_t body_size;
	unsigned refs;
	bool is_decoding; /* a refusal now is about the request itself */
	bool is_refused;  /* the rest of the body is ignored */
	bool is_begun;    /* all checks passed: the handler answers */
	bool is_complete; /* the whole body came */
	bool is_answered;
	bool is_left_told;

	/* The answer, which may have to wait for the end of a small body. */
	unsigned status;
	char *type; /* owned */
	struct buf answer;
	bool is_waiting;

	/* A stream: where it is read from, a source or our own queue. */
	struct op_source source;
	struct buf queue;
	size_t queue_at; /* bytes of it that were sent */
	bool is_stream, is_ended, is_cut, is_full;

	uint64_t start_ns;
};

/* Zeroed memory that lives as long as the exchange. */
void *exchange_memory(struct exchange *exchange, size_t size);

/* Counts memory that is kept until the end besides the body; a large answer is counted anyway.
 * False: all exchanges together would keep more than `held_max` of the router's settings. */
bool exchange_keep(struct exchange *exchange, uint64_t size);

/* Keeps the exchange alive until it is released, for timers and the like. Each ask does so
 * itself. */
void exchange_hold(struct exchange *exchange);
void exchange_release(struct exchange *exchange);

/* ---- the request; NULL where there is none, or when the client is gone ---- */

const char *exchange_header(const struct exchange *exchange, const char *name);
const char *exchange_query(const struct exchange *exchange, const char *name);
const char *exchange_var(const struct exchange *exchange,
			 const char *name); /* {name} of the path */

/* ---- its body, from `run` on ---- */

/* The body as it came; only for routes without members. With `in_memory` its data can be read in
 * place; else a large body has data NULL and a memfd, ready for an op's args. */
int exchange_body(struct exchange *exchange, bool in_memory, struct run_bytes *ret_bytes,
		  struct err *err);
uint64_t exchange_body_size(const struct exchange *exchange);

/* The tree of a body of at most EXCHANGE_JSON_MAX, borrowed; only for routes without members. NULL:
 * ERR_BAD_REQUEST, ERR_TOO_LARGE or ERR_BUSY. */
json_t *exchange_json(struct exchange *exchange, struct err *err);

/* A small member by name, as a borrowed tree; NULL: not given (null is a json_null). */
json_t *exchange_member(struct exchange *exchange, const char *name);

/* A large member by name: a string (OP_BYTES, always in memory, not NUL-terminated) or the JSON
 * text of an OP_JSON or OP_FILES. False: not given, null, or wrong as below. */
bool exchange_large(struct exchange *exchange, const char *name, bool in_memory,
		    struct run_bytes *ret_bytes);

/* Was a string or a list of files wanted, and something else given that is not null? */
bool exchange_is_wrong(const struct exchange *exchange, const char *name);

/* ---- ops ---- */

/* Calls ask_start with the engine and the caller of this exchange; the callbacks get the exchange
 * as `user`. The args must live until done: use exchange_memory. */
void exchange_ask(struct exchange *exchange, const struct op *op, const void *args,
		  const struct ask_calls *calls);

/* Cancels the ask, if there is one. Serves as `left` where nobody could read the answer later. */
void exchange_cancel(struct exchange *exchange);

/* The HTTP status of each kind of error: the one place where it is decided. */
unsigned exchange_status(const struct err *err);

/* ---- the answer ---- */

/* Adds a header to the answer; both texts are copied. Replaces the default of the same name. */
void exchange_set_header(struct exchange *exchange, const char *name, const char *value);

/* The whole answer, as application/json or as another type. Consumes the body. */
void exchange_answer(struct exchange *exchange, unsigned status, struct buf *take_json);
void exchange_answer_as(struct exchange *exchange, unsigned status, const char *type,
			struct buf *take_body);

/* The same from a tree, which is consumed, or as {"<key>": "<text>"}. */
void exchange_answer_tree(struct exchange *exchange, unsigned status, json_t *take_json);
void exchange_answer_text(struct exchange *exchange, unsigned status, const char *key,
			  const char *text);

/* Answers with an error in the form of our own API (native.c). */
void exchange_error(struct exchange *exchange, unsigned status, const struct err *err);

/* An answer in pieces that the transport reads from `source` as fast as the client takes them;
 * `size`: bytes in total, or -1. exchange_wake: the source has something, or has ended. */
void exchange_stream(struct exchange *exchange, unsigned status, const char *type, int64_t size,
		     const struct op_source *source);
void exchange_wake(struct exchange *exchange);

/* An answer from a queue: begin, write as often as you like, end. If exchange_write returns false,
 * the client has enough for now and `drained` follows; what was given is kept all the same. A
 * client that leaves EXCHANGE_QUEUE_MAX unread is cut off, and sees that its answer is
 * incomplete. */
void exchange_queue(struct exchange *exchange, unsigned status, const char *type);
bool exchange_write(struct exchange *exchange, const void *data, size_t size);
void exchange_end(struct exchange *exchange);

bool exchange_is_answered(const struct exchange *exchange); /* whole, or begun */

/* ---- only for the files of api/ ---- */

/* Refuses in the door's own words. */
void exchange_refuse(struct exchange *exchange, unsigned status, const struct err *err);

/* Answers OPTIONS with 204: the methods of the path, and what a page of an allowed origin may
 * send. */
void exchange_options(struct exchange *exchange);

/* Is there memory for the tree of so much text? */
int exchange_keep_tree(struct exchange *exchange, uint64_t size, struct err *err);

/* Sends the answer, which may have waited. */
void exchange_send(struct exchange *exchange);

/* Frees it once nobody needs it. */
void exchange_free_when_done(struct exchange *exchange);
