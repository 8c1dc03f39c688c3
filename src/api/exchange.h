// SPDX-License-Identifier: Apache-2.0
/*
 * Exchange - one request, whichever door it came through, and its one answer
 *
 * Owns:    the request, its body, who asks, the ops it asks, the answer, and their memory.
 * May not: know any door. Host, Origin, tokens, body sizes, memory and slow readers are dealt with
 *          here, for all doors alike.
 *
 * Its life: the route table has a row for it, Host, Origin and the token are checked, `begin` of
 * the row may refuse it before its body is read, the body comes, `run` is called and answers at
 * once or later, whole or as a stream. An answer is due even when the client has left; it then
 * goes nowhere.
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

#define EXCHANGE_JSON_MAX (1U << 20)   /* bytes that become a tree */
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

	/* The handler's own. */
	void *user;
	void (*left)(struct exchange *exchange);    /* the client closed its end, or is gone */
	void (*drained)(struct exchange *exchange); /* a queue that was full has room, or nobody to
						       read it */
	void (*ended)(struct exchange *exchange);   /* the last word: free what is yours */

	/* From here on: for the files of api/ alone. */
	struct router *router;
	struct http_request *request; /* borrowed; NULL: the transport has let go */
	struct route match;
	struct scan *scan;               /* owned: a body with members; NULL: none yet */
	struct parts parts;              /* a body as it is */
	json_t *tree;                    /* owned: of a whole body */
	json_t *trees[SCAN_MEMBERS_MAX]; /* owned: of small members */
	struct exchange_memory *memory;  /* owned */
	struct exchange_header headers[EXCHANGE_HEADERS_MAX];
	size_t header_count;
	char *origin; /* owned: allowed, so told; NULL: none */
	char peer[INET6_ADDRSTRLEN];
	struct router_held held; /* our part of the memory of all bodies */
	uint64_t kept;           /* our part of router->kept */
	uint64_t body_size;
	unsigned refs;
	bool is_decoding; /* messages from here on start with the name of a field */
	bool is_refused;  /* the body is no longer of interest */
	bool is_begun;    /* nothing was in the way: the handler answers it */
	bool is_complete; /* all of the body came */
	bool is_answered;
	bool is_left_told;

	/* The answer, which may have to wait for the end of a small body. */
	unsigned status;
	char *type; /* owned */
	struct buf answer;
	bool is_waiting;

	/* A stream: what it is read from, ours where it is the queue. */
	struct op_source source;
	struct buf queue;
	size_t queue_at; /* up to here it was sent */
	bool is_stream, is_ended, is_cut, is_full;

	uint64_t start_ns;
};

/* Zeroed memory that lives as long as the exchange. */
void *exchange_memory(struct exchange *exchange, size_t size);

/* Counts memory that is kept until the end beside the body; a large answer is counted by itself.
 * False: all exchanges together keep too much. */
bool exchange_keep(struct exchange *exchange, uint64_t size);

/* Keeps the exchange alive until it is released: for timers and the like. Each ask does so by
 * itself. */
void exchange_hold(struct exchange *exchange);
void exchange_release(struct exchange *exchange);

/* ---- the request; NULL where there is none, or when the client is gone ---- */

const char *exchange_method(const struct exchange *exchange);
const char *exchange_header(const struct exchange *exchange, const char *name);
const char *exchange_query(const struct exchange *exchange, const char *name);
const char *exchange_var(const struct exchange *exchange,
			 const char *name); /* {name} of the path */

/* ---- its body, from `run` on ---- */

/* As it came; only without members. With `in_memory` its data can be read in place, else a large
 * one has data NULL and a memfd, ready for an op's args. */
int exchange_body(struct exchange *exchange, bool in_memory, struct run_bytes *ret_bytes,
		  struct err *err);
uint64_t exchange_body_size(const struct exchange *exchange);

/* The tree of a body of at most EXCHANGE_JSON_MAX; only without members. Borrowed. NULL:
 * ERR_BAD_REQUEST or ERR_TOO_LARGE. */
json_t *exchange_json(struct exchange *exchange, struct err *err);

/* Members by name. A small one as a tree, borrowed; NULL: not given (null is a json_null). */
json_t *exchange_member(struct exchange *exchange, const char *name);

/* A text (OP_BYTES, always in memory, not NUL-terminated) or the JSON of an OP_JSON or OP_FILES.
 * False: not given, null, or for a text something else than a string. */
bool exchange_large(struct exchange *exchange, const char *name, bool in_memory,
		    struct run_bytes *ret_bytes);

/* A text was wanted, and what was given is neither that nor null. */
bool exchange_is_wrong(const struct exchange *exchange, const char *name);

/* ---- ops ---- */

/* ask_start for this exchange: its engine and its caller; `user` of the callbacks is the exchange.
 * The args must live until done: exchange_memory. */
struct ask *exchange_ask(struct exchange *exchange, const struct op *op, const void *args,
			 const struct ask_calls *calls);

/* The status of every kind of error: the one place where it is decided. */
unsigned exchange_status(const struct err *err);

/* ---- the answer ---- */

/* One more header of the answer; both are copied. Replaces what would be said otherwise. */
void exchange_set_header(struct exchange *exchange, const char *name, const char *value);

/* The whole answer, as application/json or as another type. Consumes the body. */
void exchange_answer(struct exchange *exchange, unsigned status, struct buf *take_json);
void exchange_answer_as(struct exchange *exchange, unsigned status, const char *type,
			struct buf *take_body);

/* ... from a tree, which is consumed; or {"<key>": "<text>"}. */
void exchange_answer_tree(struct exchange *exchange, unsigned status, json_t *take_json);
void exchange_answer_text(struct exchange *exchange, unsigned status, const char *key,
			  const char *text);

/* An error as our own API puts it; native.c. */
void exchange_error(struct exchange *exchange, unsigned status, const struct err *err);

/* An answer in pieces that the transport reads from `source` as fast as the client takes them;
 * `size`: bytes in all, or -1. exchange_wake: the source has something, or has ended. */
void exchange_stream(struct exchange *exchange, unsigned status, const char *type, int64_t size,
		     const struct op_source *source);
void exchange_wake(struct exchange *exchange);

/* ... or from a queue: begin, write as often as you like, end. False from exchange_write: the
 * client has enough for now, `drained` follows (what was given is kept all the same; a client that
 * takes nothing while EXCHANGE_QUEUE_MAX waits for it is cut off). exchange_cut: ends it so that
 * nobody takes it for whole. */
void exchange_queue(struct exchange *exchange, unsigned status, const char *type);
bool exchange_write(struct exchange *exchange, const void *data, size_t size);
void exchange_end(struct exchange *exchange);
void exchange_cut(struct exchange *exchange);

bool exchange_is_answered(const struct exchange *exchange); /* whole, or begun */

/* ---- for the files of api/ alone ---- */

/* Answers in the door's own words. */
void exchange_refuse(struct exchange *exchange, unsigned status, const struct err *err);

/* 204 for OPTIONS: what may be asked here, and by a page of an allowed origin. */
void exchange_options(struct exchange *exchange);

/* Is there memory for the tree of so much text? */
int exchange_keep_tree(struct exchange *exchange, uint64_t size, struct err *err);

/* An answer that waited can go. */
void exchange_send(struct exchange *exchange);

/* Frees it once nobody needs it. */
void exchange_free_when_done(struct exchange *exchange);
