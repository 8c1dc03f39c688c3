// SPDX-License-Identifier: Apache-2.0
/*
 * Exchange - the inside of the router, for its own files alone
 *
 * Owns:    one request and its call, from its head to the end of its answer.
 * May not: outlive either of them: it goes when the transport has let go and the op has answered.
 */
#pragma once

#include <netinet/in.h>
#include <sys/queue.h>

#include "api/decode.h"
#include "api/route.h"
#include "api/router.h"
#include "api/scan.h"

/* The bodies of one token. */
struct router_share {
	LIST_ENTRY(router_share) entry;
	const struct config_token *token; /* borrowed: from the config */
	uint64_t held;
};

struct router {
	struct router_settings settings;
	const struct op *const *tables[3]; /* the ops, our own routes, NULL */
	struct buf openapi;                /* made once */
	uint64_t held;                     /* bytes of all bodies */
	LIST_HEAD(, router_share) shares;  /* owned */
	uint32_t exchange_count;
	bool is_closed;
};

struct exchange {
	struct router *router;
	struct http_request *request; /* borrowed; NULL: the transport has let go */
	struct route route;
	struct op_call call;
	struct decoded decoded;
	struct scan *scan; /* owned; NULL: no JSON body */
	int raw;           /* owned: the memfd of a raw body; -1 */
	uint64_t raw_size;
	struct router_held held;
	char *origin; /* owned: allowed, so told; NULL: none */
	char peer[INET6_ADDRSTRLEN];
	struct err late;  /* of a bad body, told when it is over; ERR_NONE: none */
	bool is_decoding; /* errors from here start with the name of a field */
	bool is_called;   /* the op has it */
	bool is_answered;
	unsigned status;
	uint64_t start_ns;
};

/* Frees it once nobody holds it any more. */
void exchange_release(struct exchange *exchange);

/* bodies.c: what bodies take, all of them and those of a token. */
void bodies_resize(struct router *router, struct router_held *held, uint64_t size);
void bodies_done(struct router *router);
int bodies_too_large(uint64_t max, struct err *err);

/* router_access.c: who calls, and whether he may; Origin, where it may be told. */
int exchange_enter(struct exchange *exchange, bool needs_token, struct err *err);

/* The one answer. Each consumes its bodies; afterwards the exchange may be gone. */
void exchange_reply(struct exchange *exchange, unsigned status, const char *type,
		    struct buf *take_body);
void exchange_stream(struct exchange *exchange, unsigned status, const char *type, int64_t size,
		     const struct op_source *source);

/* Would the client rather have events than one result? */
bool exchange_wants_events(const struct exchange *exchange);

/* An error body with this status. */
void exchange_refuse(struct exchange *exchange, unsigned status, const struct err *err);

/* 204 for OPTIONS: what may be asked here, and by a page of an allowed origin. */
void exchange_options(struct exchange *exchange);

/* The router's own routes: /metrics and /openapi.json. */
extern const struct op *const router_ops[];
