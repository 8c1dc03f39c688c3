// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <sys/queue.h>
#include <sys/stat.h>

#include "backend/curl.h"
#include "base/c.h"
#include "cli/client_way.h"
#include "cli/client_words.h"

#define BODY_MAX (512UL << 20) /* of an answer that is kept */
#define LINE_SIZE_MAX (96UL << 20)
#define WORDS_MAX (4UL << 10) /* of a refusal */
#define CONNECT_MS 10000L
#define WATCHES_MAX 8U
#define WAIT_MS 60000
#define READ_SIZE 262144L
#define SMALL_BODY (1L << 20) /* sent without asking first whether it is welcome */

/* One request, from its first byte to the end of its answer. */
struct transfer {
	struct client *client; /* borrowed */
	struct client_call call;
	CURL *easy;                 /* owned */
	struct curl_slist *headers; /* owned */
	char *url, *sent;           /* owned; `sent` is the body of a request aside */
	struct buf body;            /* owned: of JSON answers and of errors */
	struct buf rest;            /* owned: a line that is not whole yet */
	int failure;                /* what a call for lines or bytes said */
	bool is_done;
	CURLcode code;
	long status;

	/* Of a request aside. It begins outside of curl's own calls: those allow no other. */
	bool has_begun;
	char path[256];
	void (*done)(void *user, const struct err *why);
	void *done_user;
	LIST_ENTRY(transfer) entry;
};

struct client {
	struct curl curl;
	struct client_way way;
	CURLM *multi; /* owned */
	bool is_stopped;
	LIST_HEAD(, transfer) asides;
};

/* ---- finding and opening ---- */

int client_open(const struct client_where *where, struct client **ret_client, struct err *err)
{
	struct client *client = xnew(struct client);
	int r;

	LIST_INIT(&client->asides);
	r = client_way_find(where, &client->way, err);
	if (r == 0)
		r = curl_load(&client->curl, err);
	if (r == 0) {
		client->multi = client->curl.multi_init();
		if (client->multi == NULL)
			r = err_set(err, ERR_INTERNAL, ENOMEM, "no memory for a request");
	}
	if (r < 0) {
		client_close(client);
		return r;
	}
	*ret_client = client;
	return 0;
}

const char *client_address(const struct client *client)
{
	return client->way.address;
}

bool client_is_asked(const struct client *client)
{
	return client->way.is_asked;
}

/* ---- one request ---- */

static int take_lines(struct transfer *transfer, const char *bytes, size_t size)
{
	while (size > 0) {
		const char *end = memchr(bytes, '\n', size);
		size_t piece = end != NULL ? (size_t)(end - bytes) : size;
		const char *line = bytes;
		size_t line_size = piece;
		int r = 0;

		if (end == NULL || transfer->rest.size > 0) {
			r = buf_append(&transfer->rest, bytes, piece);
			line = (const char *)transfer->rest.data;
			line_size = transfer->rest.size;
		}
		if (r == 0 && end != NULL) {
			r = transfer->call.line(transfer->call.user, line, line_size);
			buf_cut(&transfer->rest, 0);
		}
		if (r < 0)
			return r;
		bytes += piece + (end != NULL ? 1 : 0);
		size -= piece + (end != NULL ? 1 : 0);
	}
	return 0;
}

static size_t bytes_came(char *bytes, size_t one, size_t size, void *user)
{
	struct transfer *transfer = user;
	const struct client_call *call = &transfer->call;

	(void)one;
	if (transfer->status == 0)
		(void)transfer->client->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE,
							  &transfer->status);
	if (transfer->status >= 400) {
		(void)buf_append(&transfer->body, bytes, size);
		return size;
	}
	if (call->line != NULL)
		transfer->failure = take_lines(transfer, bytes, size);
	else if (call->bytes != NULL)
		transfer->failure = call->bytes(call->user, bytes, size);
	else
		transfer->failure = buf_append(&transfer->body, bytes, size);
	return transfer->failure < 0 ? 0 : size; /* another count breaks off */
}

static size_t bytes_wanted(char *room, size_t one, size_t size, void *user)
{
	const struct transfer *transfer = user;
	ssize_t n;

	do {
		n = read(transfer->call.upload, room, one * size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

static void add_header(struct transfer *transfer, const char *format, const char *value)
{
	struct buf line;
	struct curl_slist *headers = NULL;

	buf_init(&line, 4 * KIB);
	(void)buf_format(&line, "%s%s", format, value);
	headers = transfer->client->curl.slist_append(transfer->headers, buf_string(&line));
	buf_done(&line);
	if (headers == NULL)
		abort();
	transfer->headers = headers;
}

static void set_body(struct transfer *transfer)
{
	const struct curl *curl = &transfer->client->curl;
	const struct client_call *call = &transfer->call;
	struct stat info;

	if (call->upload > 0) {
		(void)curl->easy_setopt(transfer->easy, CURLOPT_UPLOAD, 1L);
		(void)curl->easy_setopt(transfer->easy, CURLOPT_READFUNCTION, bytes_wanted);
		(void)curl->easy_setopt(transfer->easy, CURLOPT_READDATA, transfer);
		if (fstat(call->upload, &info) == 0 && S_ISREG(info.st_mode)) {
			(void)curl->easy_setopt(transfer->easy, CURLOPT_INFILESIZE_LARGE,
						(curl_off_t)info.st_size);
			if (info.st_size < SMALL_BODY)
				add_header(transfer, "Expect:", "");
		}
		add_header(transfer, "Content-Type: ",
			   call->upload_type != NULL ? call->upload_type
						     : "application/octet-stream");
	} else if (call->json != NULL) {
		(void)curl->easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE,
					(curl_off_t)call->json_size);
		(void)curl->easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, call->json);
		add_header(transfer, "Content-Type: ", "application/json");
	}
	(void)curl->easy_setopt(transfer->easy, CURLOPT_CUSTOMREQUEST, call->method);
}

static int begin(struct client *client, struct transfer *transfer, struct err *err)
{
	const struct curl *curl = &client->curl;
	const struct client_way *way = &client->way;

	transfer->client = client;
	buf_init(&transfer->body, BODY_MAX);
	buf_init(&transfer->rest, LINE_SIZE_MAX);
	transfer->easy = curl->easy_init();
	if (transfer->easy == NULL ||
	    asprintf(&transfer->url, "%s%s", way->url, transfer->call.path) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for a request");
	(void)curl->easy_setopt(transfer->easy, CURLOPT_URL, transfer->url);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_PATH_AS_IS, 1L);
	if (way->socket != NULL)
		(void)curl->easy_setopt(transfer->easy, CURLOPT_UNIX_SOCKET_PATH, way->socket);
	/* What is meant for this daemon goes to nobody in between. */
	(void)curl->easy_setopt(transfer->easy, CURLOPT_PROXY, "");
	(void)curl->easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_BUFFERSIZE, READ_SIZE);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_USERAGENT, "viv/" VIV_VERSION);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, bytes_came);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_WRITEDATA, transfer);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
	set_body(transfer);
	add_header(transfer, "Accept: ",
		   transfer->call.line != NULL ? "application/x-ndjson" : "application/json, */*");
	add_header(transfer, "Vivarium-Client: ", "viv");
	if (way->token != NULL)
		add_header(transfer, "Authorization: Bearer ", way->token);
	if (getenv("VIVARIUM_APPROVE") != NULL)
		add_header(transfer, "Vivarium-Approve: ", getenv("VIVARIUM_APPROVE"));
	(void)curl->easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
	if (curl->multi_add_handle(client->multi, transfer->easy) != CURLM_OK)
		return err_set(err, ERR_INTERNAL, EIO, "cannot begin a request");
	return 0;
}

static void end(struct transfer *transfer)
{
	const struct curl *curl = &transfer->client->curl;

	if (transfer->easy != NULL) {
		(void)curl->multi_remove_handle(transfer->client->multi, transfer->easy);
		curl->easy_cleanup(transfer->easy);
	}
	curl->slist_free_all(transfer->headers);
	free(transfer->url);
	free(transfer->sent);
	buf_done(&transfer->body);
	buf_done(&transfer->rest);
}

/* ---- how it ended ---- */

static enum err_kind kind_of(const char *name)
{
	for (enum err_kind kind = ERR_BAD_REQUEST; name != NULL && kind <= ERR_INTERNAL; kind++) {
		if (strcmp(err_kind_name(kind), name) == 0)
			return kind;
	}
	return ERR_INTERNAL;
}

/* {"error":{"kind","message","remedy"?}}; anything else came from something else. */
static int refusal_of(const struct transfer *transfer, struct err *err)
{
	static const int numbers[] = {
		[ERR_BAD_REQUEST] = EINVAL, [ERR_UNAUTHORIZED] = EACCES, [ERR_FORBIDDEN] = EPERM,
		[ERR_NOT_FOUND] = ENOENT,   [ERR_CONFLICT] = EBUSY,      [ERR_TOO_LARGE] = EFBIG,
		[ERR_BUSY] = EAGAIN,        [ERR_UNSUPPORTED] = ENOTSUP, [ERR_INTERNAL] = EIO,
	};
	json_auto_t *answer =
		json_loadb((const char *)transfer->body.data, transfer->body.size, 0, NULL);
	const json_t *error = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	enum err_kind kind = kind_of(json_string_value(json_object_get(error, "kind")));
	struct buf words;

	if (message == NULL)
		return err_set(err, ERR_INTERNAL, EPROTO, "%s answers %ld, and not as viv does",
			       transfer->client->way.address, transfer->status);
	buf_init(&words, WORDS_MAX);
	client_put_words(&words, error, transfer->call.path);
	(void)err_set(err, kind, numbers[kind], "%s%s", buf_string(&words),
		      kind == ERR_UNAUTHORIZED ? "; viv sends the one in $VIVARIUM_TOKEN" : "");
	buf_done(&words);
	return -numbers[kind];
}

static int outcome(const struct transfer *transfer, struct err *err)
{
	const char *address = transfer->client->way.address;

	if (transfer->failure < 0)
		return transfer->failure;
	if (transfer->code == CURLE_COULDNT_CONNECT || transfer->code == CURLE_COULDNT_RESOLVE_HOST)
		return err_set(err, ERR_INTERNAL, ECONNREFUSED,
			       "no daemon answers at %s; start one: viv serve", address);
	if (transfer->status >= 400)
		return refusal_of(transfer, err);
	if (transfer->code != CURLE_OK)
		return err_set(err, ERR_INTERNAL, ECONNRESET, "the daemon at %s broke off: %s",
			       address, transfer->client->curl.easy_strerror(transfer->code));
	return 0;
}

/* ---- the loop ---- */

static void finish(struct transfer *transfer, CURLcode code)
{
	transfer->is_done = true;
	transfer->code = code;
	if (transfer->status == 0)
		(void)transfer->client->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE,
							  &transfer->status);
}

static void finish_asides(struct client *client)
{
	struct transfer *transfer = LIST_FIRST(&client->asides);

	while (transfer != NULL) {
		struct transfer *next = LIST_NEXT(transfer, entry);
		struct err err = {0};

		if (transfer->is_done) {
			int r = outcome(transfer, &err);

			LIST_REMOVE(transfer, entry);
			if (transfer->done != NULL)
				transfer->done(transfer->done_user, r < 0 ? &err : NULL);
			end(transfer);
			free(transfer);
			next = LIST_FIRST(&client->asides); /* the call may have changed the list */
		}
		transfer = next;
	}
}

static void begin_asides(struct client *client)
{
	struct transfer *transfer = NULL;
	struct err err = {0};

	LIST_FOREACH(transfer, &client->asides, entry) {
		if (!transfer->has_begun && begin(client, transfer, &err) < 0)
			transfer->failure = -err.num;
		transfer->is_done |= transfer->failure < 0;
		transfer->has_begun = true;
	}
}

static void step(struct client *client)
{
	const struct curl *curl = &client->curl;
	CURLMsg *message = NULL;
	int running = 0;
	int left = 0;

	begin_asides(client);
	(void)curl->multi_perform(client->multi, &running);
	while ((message = curl->multi_info_read(client->multi, &left)) != NULL) {
		struct transfer *transfer = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		if (transfer != NULL)
			finish(transfer, message->data.result);
	}
	finish_asides(client);
}

/* curl tells of readable bytes, but not of a hang-up: so the descriptors are looked at again. */
static void serve_watches(const struct client_call *call, size_t count)
{
	struct pollfd fds[WATCHES_MAX];

	for (size_t i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = call->watches[i].fd, .events = POLLIN};
	if (count == 0 || poll(fds, count, 0) <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (fds[i].revents != 0 && call->watches[i].fd == fds[i].fd)
			call->watches[i].ready(call->watches[i].user);
	}
}

static void wait_for(struct client *client, const struct client_call *call)
{
	size_t count = call->watch_count < WATCHES_MAX ? call->watch_count : WATCHES_MAX;
	struct curl_waitfd fds[WATCHES_MAX];
	unsigned used = 0;
	int ready = 0;

	for (size_t i = 0; i < count; i++) {
		if (call->watches[i].fd >= 0)
			fds[used++] = (struct curl_waitfd){.fd = call->watches[i].fd,
							   .events = CURL_WAIT_POLLIN};
	}
	(void)client->curl.multi_poll(client->multi, fds, used, WAIT_MS, &ready);
	serve_watches(call, count);
}

static void drop_asides(struct client *client)
{
	while (!LIST_EMPTY(&client->asides)) {
		struct transfer *transfer = LIST_FIRST(&client->asides);

		LIST_REMOVE(transfer, entry);
		end(transfer);
		free(transfer);
	}
}

int client_call(struct client *client, const struct client_call *call, struct buf *ret_body,
		struct err *err)
{
	struct transfer transfer = {.call = *call};
	int r;

	client->is_stopped = false;
	r = begin(client, &transfer, err);
	while (r == 0 && !transfer.is_done && !client->is_stopped) {
		step(client);
		if (!transfer.is_done)
			wait_for(client, call);
	}
	if (r == 0 && !transfer.is_done)
		r = err_set(err, ERR_INTERNAL, ECANCELED, "given up");
	if (r == 0)
		r = outcome(&transfer, err);
	if (r == 0 && ret_body != NULL) {
		*ret_body = transfer.body;
		buf_init(&transfer.body, 0);
	}
	end(&transfer);
	drop_asides(client);
	return r;
}

void client_stop(struct client *client)
{
	client->is_stopped = true;
}

json_t *client_json(struct client *client, const char *method, const char *path, json_t *take_body,
		    struct err *err)
{
	AUTO_FREE char *text = take_body != NULL ? json_dumps(take_body, JSON_COMPACT) : NULL;
	const struct client_call call = {.method = method,
					 .path = path,
					 .json = text,
					 .json_size = text != NULL ? strlen(text) : 0};
	json_t *answer = NULL;
	struct buf body;
	int r;

	buf_init(&body, 0);
	json_decref(take_body);
	r = client_call(client, &call, &body, err);
	if (r == 0 && body.size == 0)
		answer = json_null();
	else if (r == 0)
		answer = json_loadb((const char *)body.data, body.size,
				    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (r == 0 && answer == NULL)
		(void)err_set(err, ERR_INTERNAL, EPROTO, "%s answers what is no JSON",
			      client->way.address);
	buf_done(&body);
	return answer;
}

void client_aside(struct client *client, const char *method, const char *path, json_t *take_body,
		  void (*done)(void *user, const struct err *why), void *user)
{
	struct transfer *transfer = xnew(struct transfer);

	transfer->client = client;
	transfer->sent = take_body != NULL ? json_dumps(take_body, JSON_COMPACT) : NULL;
	json_decref(take_body);
	(void)snprintf(transfer->path, sizeof(transfer->path), "%s", path);
	transfer->call = (struct client_call){
		.method = method,
		.path = transfer->path,
		.json = transfer->sent,
		.json_size = transfer->sent != NULL ? strlen(transfer->sent) : 0,
	};
	transfer->done = done;
	transfer->done_user = user;
	LIST_INSERT_HEAD(&client->asides, transfer, entry);
}

void client_close(struct client *client)
{
	if (client == NULL)
		return;
	drop_asides(client);
	if (client->multi != NULL)
		(void)client->curl.multi_cleanup(client->multi);
	client_way_done(&client->way);
	free(client);
}
