// SPDX-License-Identifier: Apache-2.0
#include "backend/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/job.h"
#include "backend/transfer_state.h"
#include "base/c.h"

#define BODY_MAX (64UL << 20)          /* of a body kept in memory */
#define SMALL_BODY ((uint64_t)1 << 20) /* sent without waiting for 100-continue */

/* ---- the end of one ---- */

void transfer_free(struct transfer *transfer)
{
	LIST_REMOVE(transfer, entry);
	curl_request_done(&transfer->request);
	buf_done(&transfer->head);
	buf_done(&transfer->tail);
	buf_done(&transfer->body);
	free(transfer);
}

void transfer_cancel(struct transfer *transfer)
{
	if (transfer == NULL)
		return;
	transfer->is_cancelled = true;
	if (transfer->all->inside == 0)
		transfer_free(transfer);
}

/* ---- one request ---- */

/* No request may be started or ended in here: curl allows no calls from its callbacks. */
static size_t bytes_came(char *bytes, size_t one, size_t size, void *user)
{
	struct transfer *transfer = user;
	long status = curl_request_status(&transfer->request);
	int r;

	(void)one;
	if (transfer->is_cancelled)
		return 0;
	transfer->taken += size;
	if (transfer->taken > transfer->answer_max) {
		transfer->broke = "its answer is larger than is taken";
		return 0;
	}
	if (transfer->calls.bytes != NULL && status >= 200 && status < 300)
		r = transfer->calls.bytes(transfer->user, bytes, size);
	else
		r = buf_append(&transfer->body, bytes, size);
	if (r < 0)
		transfer->broke = "it was broken off";
	return r < 0 || transfer->is_cancelled ? 0 : size; /* any other count makes curl stop */
}

static size_t copy_text(const struct buf *text, uint64_t at, char *room, size_t size)
{
	size_t left = text->size - (size_t)at;
	size_t n = left < size ? left : size;

	memcpy(room, text->data + at, n);
	return n;
}

static size_t bytes_wanted(char *room, size_t one, size_t count, void *user)
{
	struct transfer *transfer = user;
	uint64_t head = transfer->head.size;
	uint64_t file_end = head + transfer->size;
	size_t size = one * count;
	size_t n = 0;

	if (transfer->is_cancelled)
		return CURL_READFUNC_ABORT;
	if (transfer->sent < head) {
		n = copy_text(&transfer->head, transfer->sent, room, size);
	} else if (transfer->sent < file_end) {
		uint64_t left = file_end - transfer->sent;
		ssize_t got = pread(transfer->fd, room, left < size ? (size_t)left : size,
				    (off_t)(transfer->sent - head));

		if (got <= 0)
			return CURL_READFUNC_ABORT;
		n = (size_t)got;
	} else if (transfer->sent < file_end + transfer->tail.size) {
		n = copy_text(&transfer->tail, transfer->sent - file_end, room, size);
	}
	transfer->sent += n;
	return n;
}

/* A kept connection had died: curl sends the body again. */
static int seek(void *user, curl_off_t offset, int origin)
{
	struct transfer *transfer = user;

	if (origin != SEEK_SET || offset < 0)
		return CURL_SEEKFUNC_FAIL;
	transfer->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

#define SET(option, value) (void)request->curl->easy_setopt(request->easy, option, value)

static void set_body(struct transfer *transfer)
{
	struct curl_request *request = &transfer->request;
	uint64_t size = transfer->head.size + transfer->size + transfer->tail.size;

	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	SET(CURLOPT_READFUNCTION, bytes_wanted);
	SET(CURLOPT_READDATA, transfer);
	SET(CURLOPT_SEEKFUNCTION, seek);
	SET(CURLOPT_SEEKDATA, transfer);
}

static void set_headers(struct transfer *transfer, const struct transfer_ask *ask)
{
	struct curl_request *request = &transfer->request;
	uint64_t size = transfer->head.size + transfer->size + transfer->tail.size;

	curl_request_add(request, "Accept: %s", ask->accept);
	if (transfer->all->token[0] != '\0')
		curl_request_add(request, "Authorization: Bearer %s", transfer->all->token);
	if (strcmp(ask->method, "POST") != 0)
		return;
	set_body(transfer);
	curl_request_add(request, "Content-Type: application/json");
	curl_request_add(request, BACKEND_FORWARDED ": 1");
	if (size <= SMALL_BODY)
		curl_request_add(request, "Expect:");
}

int transfer_start(struct transfers *all, const struct transfer_ask *ask,
		   const struct transfer_calls *calls, void *user, struct transfer **ret_transfer,
		   struct err *err)
{
	struct transfer *transfer = xnew(struct transfer);
	struct curl_request *request = &transfer->request;
	int r;

	transfer->all = all;
	transfer->calls = *calls;
	transfer->user = user;
	transfer->fd = ask->fd;
	transfer->size = ask->fd >= 0 ? ask->size : 0;
	transfer->answer_max = ask->answer_max;
	buf_init(&transfer->head, BODY_MAX);
	buf_init(&transfer->tail, KIB);
	buf_init(&transfer->body, BODY_MAX);
	LIST_INSERT_HEAD(&all->list, transfer, entry);
	*request = (struct curl_request){.curl = &all->curl, .multi = all->multi};
	r = curl_request_open(request, all->url, ask->path, NULL, (long)all->connect_ms, bytes_came,
			      transfer, err);
	if (r == 0 && (buf_text(&transfer->head, ask->head != NULL ? ask->head : "") < 0 ||
		       buf_text(&transfer->tail, ask->tail != NULL ? ask->tail : "") < 0))
		r = err_set(err, ERR_INTERNAL, ENOMEM, "no memory for a request");
	if (r == 0) {
		SET(CURLOPT_ERRORBUFFER, transfer->error);
		SET(CURLOPT_TCP_KEEPALIVE, 1L);
		SET(CURLOPT_TIMEOUT_MS, (long)ask->timeout_ms);
		set_headers(transfer, ask);
		r = curl_request_begin(request, err);
	}
	if (r < 0) {
		transfer_free(transfer);
		return r;
	}
	*ret_transfer = transfer;
	return 0;
}

/* ---- all of them ---- */

static void set_address(struct transfers *all, const char *url)
{
	const char *host = strstr(url, "://");
	size_t size = strlen(url);

	while (size > 0 && url[size - 1] == '/')
		size--;
	(void)snprintf(all->url, sizeof(all->url), "%.*s", (int)size, url);
	host = host != NULL ? host + 3 : url;
	(void)snprintf(all->origin, sizeof(all->origin), "%.*s",
		       (int)((size_t)(host - url) + strcspn(host, "/")), url);
}

int transfers_new(uv_loop_t *loop, const char *url, const char *token, uint32_t connect_ms,
		  struct transfers **ret_transfers, struct err *err)
{
	struct transfers *all = xnew(struct transfers);
	int r = curl_load(&all->curl, err);

	LIST_INIT(&all->list);
	all->connect_ms = connect_ms;
	set_address(all, url);
	(void)snprintf(all->token, sizeof(all->token), "%s", token);
	if (r == 0)
		r = transfers_open(all, loop, err);
	if (r < 0) {
		free(all);
		return r;
	}
	*ret_transfers = all;
	return 0;
}

const char *transfers_origin(const struct transfers *all)
{
	return all->origin;
}

void transfers_free(struct transfers *all)
{
	struct transfer *transfer = NULL;

	if (all == NULL)
		return;
	transfer = LIST_FIRST(&all->list);
	while (transfer != NULL) {
		struct transfer *next = LIST_NEXT(transfer, entry);

		transfer_free(transfer);
		transfer = next;
	}
	transfers_close(all);
}
