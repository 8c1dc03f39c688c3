// SPDX-License-Identifier: Apache-2.0
/*
 * Transfer state - the inside of transfers, for transfer*.c alone
 *
 * Owns:    nothing of its own: transfer.c makes requests and takes answers, transfer_loop.c runs
 *          curl in the loop and reports finished transfers.
 */
#pragma once

#include <sys/queue.h>

#include "backend/curl.h"
#include "backend/transfer.h"
#include "base/buf.h"

struct transfer {
	struct transfers *all; /* borrowed */
	struct transfer_calls calls;
	void *user;                  /* borrowed until done or cancelled */
	struct curl_request request; /* owned */
	char error[CURL_ERROR_SIZE];
	struct buf head, tail; /* owned */
	int fd;                /* borrowed */
	uint64_t size, sent;   /* of the whole body */
	uint64_t taken, answer_max;
	struct buf body;   /* owned: of the answer */
	const char *broke; /* why we cut it off; NULL: we did not */
	bool is_cancelled; /* cancelled inside curl's callbacks: freed when they have returned */
	LIST_ENTRY(transfer) entry;
};

struct transfers {
	struct curl curl;
	CURLM *multi; /* owned */
	uv_loop_t *loop;
	uv_timer_t timer;
	char url[512], origin[512], token[512];
	uint32_t connect_ms;
	unsigned inside; /* depth of curl's callbacks */
	int handles;
	bool is_freed;
	LIST_HEAD(, transfer) list;
};

/* transfer.c: removes it from curl and frees it. */
void transfer_free(struct transfer *transfer);

/* transfer_loop.c: makes a multi handle that this loop serves. */
int transfers_open(struct transfers *all, uv_loop_t *loop, struct err *err);

/* transfer_loop.c: closes it; the loop frees the memory. */
void transfers_close(struct transfers *all);
