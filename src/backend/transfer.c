// SPDX-License-Identifier: Apache-2.0
#include "backend/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/job.h"
#include "backend/transfer_state.h"
#include "base/c.h"

#define BODY_MAX (64UL << 20) /* of what is kept here */
#define PIECE_SIZE 262144L
#define SMALL_BODY ((uint64_t)1 << 20) /* sent without asking first whether it is welcome */

/* ---- the end of one ---- */

void transfer_free(struct transfer *transfer)
{
	struct transfers *all = transfer->all;

	LIST_REMOVE(transfer, entry);
	(void)all->curl.multi_remove_handle(all->multi, transfer->easy);
	all->curl.easy_cleanup(transfer->easy);
	all->curl.slist_free_all(transfer->headers);
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

/* Nothing may begin or end in here: curl allows no other call of it. */
static size_t bytes_came(char *bytes, size_t one, size_t size, void *user)
{
	struct transfer *transfer = user;
	long status = 0;
	int r;

	(void)one;
	if (transfer->is_cancelled)
		return 0;
	transfer->taken += size;
	if (transfer->taken > transfer->answer_max) {
		transfer->broke = "its answer is larger than is taken";
		return 0;
	}
	(void)transfer->all->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (transfer->calls.bytes != NULL && status >= 200 && status < 300)
		r = transfer->calls.bytes(transfer->user, bytes, size);
	else
		r = buf_append(&transfer->body, bytes, size);
	if (r < 0)
		transfer->broke = "it was broken off";
	return r < 0 || transfer->is_cancelled ? 0 : size; /* another count breaks off */
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

/* A connection that was kept and had died: curl sends the body again. */
static int seek(void *user, curl_off_t offset, int origin)
{
	struct transfer *transfer = user;

	if (origin != SEEK_SET || offset < 0)
		return CURL_SEEKFUNC_FAIL;
	transfer->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static void add_header(struct transfer *transfer, const char *name, const char *value)
{
	char line[600];
	struct curl_slist *list = NULL;

	(void)snprintf(line, sizeof(line), "%s%s", name, value);
	list = transfer->all->curl.slist_append(transfer->headers, line);
	if (list == NULL)
		abort();
	transfer->headers = list;
}

#define SET(option, value) (void)all->curl.easy_setopt(transfer->easy, option, value)

static void set_rules(struct transfer *transfer, uint32_t timeout_ms)
{
	struct transfers *all = transfer->all;

	SET(CURLOPT_URL, transfer->url);
	SET(CURLOPT_ERRORBUFFER, transfer->error);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOPROXY, "*");
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_BUFFERSIZE, PIECE_SIZE);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)all->connect_ms);
	SET(CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	SET(CURLOPT_HTTPHEADER, transfer->headers);
	SET(CURLOPT_WRITEFUNCTION, bytes_came);
	SET(CURLOPT_WRITEDATA, transfer);
}

static void set_body(struct transfer *transfer)
{
	struct transfers *all = transfer->all;
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
	uint64_t size = transfer->head.size + transfer->size + transfer->tail.size;

	add_header(transfer, "Accept: ", ask->accept);
	if (transfer->all->token[0] != '\0')
		add_header(transfer, "Authorization: Bearer ", transfer->all->token);
	if (strcmp(ask->method, "POST") != 0)
		return;
	add_header(transfer, "Content-Type: application/json", "");
	add_header(transfer, BACKEND_FORWARDED ": 1", "");
	if (size <= SMALL_BODY)
		add_header(transfer, "Expect:", "");
}

int transfer_start(struct transfers *all, const struct transfer_ask *ask,
		   const struct transfer_calls *calls, void *user, struct transfer **ret_transfer,
		   struct err *err)
{
	struct transfer *transfer = xnew(struct transfer);

	transfer->all = all;
	transfer->calls = *calls;
	transfer->user = user;
	transfer->fd = ask->fd;
	transfer->size = ask->fd >= 0 ? ask->size : 0;
	transfer->answer_max = ask->answer_max;
	buf_init(&transfer->head, BODY_MAX);
	buf_init(&transfer->tail, KIB);
	buf_init(&transfer->body, BODY_MAX);
	transfer->easy = all->curl.easy_init();
	if (transfer->easy == NULL ||
	    buf_text(&transfer->head, ask->head != NULL ? ask->head : "") < 0 ||
	    buf_text(&transfer->tail, ask->tail != NULL ? ask->tail : "") < 0) {
		if (transfer->easy != NULL)
			all->curl.easy_cleanup(transfer->easy);
		buf_done(&transfer->head);
		free(transfer);
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for a request");
	}
	LIST_INSERT_HEAD(&all->list, transfer, entry);
	(void)snprintf(transfer->url, sizeof(transfer->url), "%s%s", all->url, ask->path);
	set_headers(transfer, ask);
	set_rules(transfer, ask->timeout_ms);
	if (strcmp(ask->method, "POST") == 0)
		set_body(transfer);
	if (all->curl.multi_add_handle(all->multi, transfer->easy) != CURLM_OK) {
		transfer_free(transfer);
		return err_set(err, ERR_INTERNAL, EBUSY, "the request cannot begin now");
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
