// SPDX-License-Identifier: Apache-2.0
/*
 * Transfer state - the inside of transfers, for transfer*.c alone
 *
 * Owns:    nothing of its own: transfer.c makes requests and takes answers, transfer_loop.c lets
 *          curl live in the loop and tells who is done.
 */
#pragma once

#include <sys/queue.h>

#include "backend/curl.h"
#include "backend/transfer.h"
#include "base/buf.h"

#define TRANSFER_URL_MAX 1024U

struct transfer {
	struct transfers *all; /* borrowed */
	struct transfer_calls calls;
	void *user;                 /* borrowed until done or cancelled */
	CURL *easy;                 /* owned */
	struct curl_slist *headers; /* owned */
	char url[TRANSFER_URL_MAX];
	char error[CURL_ERROR_SIZE];
	struct buf head, tail; /* owned */
	int fd;                /* borrowed */
	uint64_t size, sent;   /* of the whole body */
	uint64_t taken, answer_max;
	struct buf body;   /* owned: of the answer */
	const char *broke; /* why we broke it off; NULL: we did not */
	bool is_cancelled; /* inside of curl's calls: it goes when they have returned */
	LIST_ENTRY(transfer) entry;
};

struct transfers {
	struct curl curl;
	CURLM *multi; /* owned */
	uv_loop_t *loop;
	uv_timer_t timer;
	char url[512], origin[512], token[512];
	uint32_t connect_ms;
	unsigned inside; /* of curl's calls: how deep */
	int handles;
	bool is_freed;
	LIST_HEAD(, transfer) list;
};

/* transfer.c: takes it from curl and gives its memory back. */
void transfer_free(struct transfer *transfer);

/* transfer_loop.c: a multi handle that this loop serves. */
int transfers_open(struct transfers *all, uv_loop_t *loop, struct err *err);

/* transfer_loop.c: no more of it; the loop gives the memory back. */
void transfers_close(struct transfers *all);
