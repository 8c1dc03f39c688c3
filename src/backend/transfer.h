// SPDX-License-Identifier: Apache-2.0
/*
 * Transfer - HTTP requests to one server, without waiting for it
 *
 * Owns:    libcurl's multi handle inside the loop, and every request under way.
 * May not: trust the server: redirects are not followed, no proxy is taken from the environment,
 *          nothing is decompressed, and an answer has a maximum size and a deadline.
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
	const char *path;   /* appended to the base address */
	const char *accept; /* a media type */
	const char *head, *tail;
	int fd; /* borrowed until done; -1: none */
	uint64_t size;
	uint32_t timeout_ms; /* of all of it */
	uint64_t answer_max; /* bytes; a longer answer is cut off */
};

struct transfer_end {
	unsigned status;     /* 0: no answer */
	bool is_unreachable; /* no connection was made: nothing was sent */
	bool is_late;        /* cut off at its deadline */
	struct err why;      /* ERR_NONE: the answer is complete */
	const char *body;    /* the bytes that `bytes` did not take */
	size_t body_size;
};

struct transfer_calls {
	/* Bytes of an answer with status 2xx, as they arrive; a negative errno ends the transfer.
	 * NULL: they are in the end's body. */
	int (*bytes)(void *user, const char *bytes, size_t size);

	/* Called once, last; the transfer is freed. */
	void (*done)(void *user, const struct transfer_end *end);
};

/* Requests to `url` (a base address) with this token ("" for none). */
int transfers_new(uv_loop_t *loop, const char *url, const char *token, uint32_t connect_ms,
		  struct transfers **ret_transfers, struct err *err);

/* Ends all transfers without a call; the loop frees the memory. Accepts NULL. */
void transfers_free(struct transfers *transfers);

/* Scheme, host and port of the address, which messages may name. */
const char *transfers_origin(const struct transfers *transfers);

/* Texts of `ask` are copied; calls come from the loop. */
int transfer_start(struct transfers *transfers, const struct transfer_ask *ask,
		   const struct transfer_calls *calls, void *user, struct transfer **ret_transfer,
		   struct err *err);

/* No call comes after this; may be called from inside one. Accepts NULL. */
void transfer_cancel(struct transfer *transfer);
