// SPDX-License-Identifier: Apache-2.0
/*
 * Transfer - HTTP requests to one server, without waiting for it
 *
 * Owns:    libcurl's multi handle inside the loop, and every request on its way.
 * May not: trust the server: redirects are not followed, no proxy is taken from the environment,
 *          nothing is unpacked, and an answer has a size and a time at which it is broken off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct transfers;
struct transfer;

/* A body is `head`, then `size` bytes of `fd` from its start, then `tail`. */
struct transfer_ask {
	const char *method; /* "GET" or "POST" */
	const char *path;   /* behind the base address */
	const char *accept; /* a media type */
	const char *head, *tail;
	int fd; /* borrowed until done; -1: none */
	uint64_t size;
	uint32_t timeout_ms; /* of all of it */
	uint64_t answer_max; /* bytes; more breaks it off */
};

struct transfer_end {
	unsigned status;     /* 0: there was no answer */
	bool is_unreachable; /* no connection came about: nothing was sent */
	bool is_late;        /* broken off for its time */
	struct err why;      /* ERR_NONE: the answer is whole */
	const char *body;    /* what came and was not taken by `bytes` */
	size_t body_size;
};

struct transfer_calls {
	/* Bytes of an answer with a status of 2xx, as they come; a negative errno breaks it off.
	 * NULL: they are in the end's body. */
	int (*bytes)(void *user, const char *bytes, size_t size);

	/* Once, and the last call; the transfer is gone. */
	void (*done)(void *user, const struct transfer_end *end);
};

/* Requests to `url` (a base address) with this token ("" for none). */
int transfers_new(uv_loop_t *loop, const char *url, const char *token, uint32_t connect_ms,
		  struct transfers **ret_transfers, struct err *err);

/* Ends all of them without a call; the loop gives the memory back. Accepts NULL. */
void transfers_free(struct transfers *transfers);

/* Scheme, host and port of the address: what messages may name. */
const char *transfers_origin(const struct transfers *transfers);

/* Texts of `ask` are copied; calls come from the loop. */
int transfer_start(struct transfers *transfers, const struct transfer_ask *ask,
		   const struct transfer_calls *calls, void *user, struct transfer **ret_transfer,
		   struct err *err);

/* No call comes any more; also from inside one. Accepts NULL. */
void transfer_cancel(struct transfer *transfer);
