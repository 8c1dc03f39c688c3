// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
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
#define SMALL_BODY (1L << 20) /* sent without "Expect: 100-continue" */

/* One request, from its first byte to the end of its answer. */
struct client_request {
	struct client *client; /* borrowed */
	struct client_call call;
	struct curl_request curl; /* owned */
	char *path;               /* owned */
	char *sent;               /* owned: its body; NULL: none, or the caller's */
	struct buf body;          /* owned: of JSON answers and of errors */
	struct buf rest;          /* owned: an incomplete line */
	int failure;              /* negative errno of the consumer of the answer */
	bool has_begun, is_done;
	bool is_waited_for; /* client_call frees it */
	CURLcode code;
	long status;
	LIST_ENTRY(client_request) entry;
};

struct client {
	struct curl curl;
	struct client_way way;
	CURLM *multi; /* owned */
	bool is_stopped;
	LIST_HEAD(, client_request) requests;
};

/* ---- finding and opening ---- */

int client_open(const struct client_where *where, struct client **ret_client, struct err *err)
{
	struct client *client = xnew(struct client);
	int r;

	LIST_INIT(&client->requests);
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

static size_t bytes_came(char *bytes, size_t one, size_t size, void *user)
{
	struct client_request *request = user;
	const struct client_call *call = &request->call;

	(void)one;
	request->status = curl_request_status(&request->curl);
	if (request->status >= 400 && !call->is_carried) {
		(void)buf_append(&request->body, bytes, size);
		return size;
	}
	if (call->line != NULL)
		request->failure =
			curl_take_lines(&request->rest, bytes, size, call->line, call->user);
	else if (call->bytes != NULL)
		request->failure = call->bytes(call->user, bytes, size);
	else
		request->failure = buf_append(&request->body, bytes, size);
	return request->failure < 0 ? 0 : size; /* any other count makes curl abort */
}

bool client_header_is(const char *line, size_t size, const char *name, const char **ret_value,
		      size_t *ret_size)
{
	size_t n = strlen(name);

	if (size <= n || strncasecmp(line, name, n) != 0)
		return false;
	line += n;
	size -= n;
	while (size > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		size--;
	}
	while (size > 0 && strchr(" \t\r\n", line[size - 1]) != NULL)
		size--;
	*ret_value = line;
	*ret_size = size;
	return true;
}

static size_t header_came(char *line, size_t one, size_t size, void *user)
{
	const struct client_request *request = user;

	(void)one;
	request->call.header(request->call.user, line, size);
	return size;
}

static size_t bytes_wanted(char *room, size_t one, size_t size, void *user)
{
	const struct client_request *request = user;
	ssize_t n;

	do {
		n = read(request->call.upload, room, one * size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

#define SET(option, value) (void)curl->curl->easy_setopt(curl->easy, option, value)

static void set_body(struct client_request *request)
{
	struct curl_request *curl = &request->curl;
	const struct client_call *call = &request->call;
	struct stat info;

	if (call->upload > 0) {
		SET(CURLOPT_UPLOAD, 1L);
		SET(CURLOPT_READFUNCTION, bytes_wanted);
		SET(CURLOPT_READDATA, request);
		if (fstat(call->upload, &info) == 0 && S_ISREG(info.st_mode)) {
			SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)info.st_size);
			if (info.st_size < SMALL_BODY)
				curl_request_add(curl, "Expect:");
		}
		curl_request_add(curl, "Content-Type: %s",
				 call->upload_type != NULL ? call->upload_type
							   : "application/octet-stream");
	} else if (call->json != NULL) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->json_size);
		SET(CURLOPT_POSTFIELDS, call->json);
		curl_request_add(curl, "Content-Type: application/json");
	}
	SET(CURLOPT_CUSTOMREQUEST, call->method);
}

static void add_headers(struct client_request *request)
{
	const char *line = request->call.headers;
	struct curl_request *curl = &request->curl;

	while (line != NULL && *line != '\0') {
		size_t size = strcspn(line, "\n");

		curl_request_add(curl, "%.*s", (int)size, line);
		line += size + (line[size] == '\n');
	}
	if (request->client->way.token != NULL)
		curl_request_add(curl, "Authorization: Bearer %s", request->client->way.token);
	if (request->call.is_carried)
		return;
	curl_request_add(curl, "Accept: %s",
			 request->call.line != NULL ? "application/x-ndjson"
						    : "application/json, */*");
	curl_request_add(curl, "Vivarium-Client: viv");
	if (getenv("VIVARIUM_APPROVE") != NULL)
		curl_request_add(curl, "Vivarium-Approve: %s", getenv("VIVARIUM_APPROVE"));
}

struct client_request *client_send(struct client *client, const struct client_call *call,
				   char *take_json)
{
	struct client_request *request = xnew(struct client_request);
	struct curl_request *curl = &request->curl;
	const struct client_way *way = &client->way;
	struct err err = {0};

	*curl = (struct curl_request){.curl = &client->curl, .multi = client->multi};
	request->client = client;
	request->call = *call;
	request->call.path = request->path = xstrdup(call->path);
	request->sent = take_json;
	buf_init(&request->body, BODY_MAX);
	buf_init(&request->rest, LINE_SIZE_MAX);
	LIST_INSERT_HEAD(&client->requests, request, entry);
	if (curl_request_open(curl, way->url, request->path, way->socket, CONNECT_MS, bytes_came,
			      request, &err) < 0)
		abort(); /* no memory */
	SET(CURLOPT_USERAGENT, "viv/" VIV_VERSION);
	if (call->header != NULL) {
		SET(CURLOPT_HEADERFUNCTION, header_came);
		SET(CURLOPT_HEADERDATA, request);
	}
	set_body(request);
	add_headers(request);
	return request;
}

long client_request_status(const struct client_request *request)
{
	return request->status;
}

void client_request_free(struct client_request *request)
{
	if (request == NULL)
		return;
	LIST_REMOVE(request, entry);
	curl_request_done(&request->curl);
	free(request->path);
	free(request->sent);
	buf_done(&request->body);
	buf_done(&request->rest);
	free(request);
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

/* A daemon refuses with {"error":{"kind","message","remedy"?}}; any other body came from another
 * server. */
static int refusal_of(const struct client_request *request, struct err *err)
{
	static const int numbers[] = {
		[ERR_BAD_REQUEST] = EINVAL, [ERR_UNAUTHORIZED] = EACCES, [ERR_FORBIDDEN] = EPERM,
		[ERR_NOT_FOUND] = ENOENT,   [ERR_CONFLICT] = EBUSY,      [ERR_TOO_LARGE] = EFBIG,
		[ERR_BUSY] = EAGAIN,        [ERR_UNSUPPORTED] = ENOTSUP, [ERR_INTERNAL] = EIO,
	};
	json_auto_t *answer =
		json_loadb((const char *)request->body.data, request->body.size, 0, NULL);
	const json_t *error = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	enum err_kind kind = kind_of(json_string_value(json_object_get(error, "kind")));
	struct buf words;

	if (message == NULL)
		return err_set(err, ERR_INTERNAL, EPROTO,
			       "%s answered with HTTP status %ld, but not like a Vivarium daemon",
			       request->client->way.address, request->status);
	buf_init(&words, WORDS_MAX);
	client_put_words(&words, error, request->call.path);
	(void)err_set(err, kind, numbers[kind], "%s%s", buf_string(&words),
		      kind == ERR_UNAUTHORIZED ? "; viv sends the one in $VIVARIUM_TOKEN" : "");
	buf_done(&words);
	return -numbers[kind];
}

static int outcome(const struct client_request *request, struct err *err)
{
	const char *address = request->client->way.address;

	if (request->call.is_carried)
		return request->code == CURLE_OK
			       ? 0
			       : err_set(err, ERR_INTERNAL, ECONNRESET,
					 "the daemon at %s cannot be reached: %s", address,
					 request->client->curl.easy_strerror(request->code));
	if (request->failure < 0)
		return request->failure;
	if (request->code == CURLE_COULDNT_CONNECT || request->code == CURLE_COULDNT_RESOLVE_HOST)
		return err_set(err, ERR_INTERNAL, ECONNREFUSED,
			       "no daemon answers at %s; start one: viv serve", address);
	if (request->status >= 400)
		return refusal_of(request, err);
	if (request->code != CURLE_OK)
		return err_set(err, ERR_INTERNAL, ECONNRESET,
			       "the connection to the daemon at %s failed: %s", address,
			       request->client->curl.easy_strerror(request->code));
	return 0;
}

/* ---- the loop ---- */

static void end_request(struct client_request *request, CURLcode code)
{
	struct err err = {0};
	int r;

	request->is_done = true;
	request->code = code;
	request->status = curl_request_status(&request->curl);
	if (request->is_waited_for)
		return;
	r = outcome(request, &err);
	if (request->call.done != NULL)
		request->call.done(request->call.user, r < 0 ? &err : NULL);
	client_request_free(request);
}

/* Starts requests that were sent from a callback: curl cannot be called from its own callbacks. */
static void begin_new(struct client *client)
{
	struct client_request *request = NULL;
	struct err err = {0};

	LIST_FOREACH(request, &client->requests, entry) {
		if (!request->has_begun && curl_request_begin(&request->curl, &err) < 0)
			abort(); /* no memory */
		request->has_begun = true;
	}
}

void client_work(struct client *client)
{
	struct client_request *request = NULL;
	CURLcode code = CURLE_OK;
	int running = 0;

	begin_new(client);
	(void)client->curl.multi_perform(client->multi, &running);
	while ((request = curl_next_done(&client->curl, client->multi, &code)) != NULL)
		end_request(request, code);
}

/* curl_multi_poll reports readable bytes but not a hang-up, so the descriptors are polled again. */
static void serve_watches(const struct client_watch *watches, size_t count)
{
	struct pollfd fds[WATCHES_MAX];

	for (size_t i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = watches[i].fd,
					 .events = watches[i].is_for_end ? 0 : POLLIN};
	if (count == 0 || poll(fds, count, 0) <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (fds[i].revents != 0 && watches[i].fd == fds[i].fd)
			watches[i].ready(watches[i].user);
	}
}

void client_wait(struct client *client, const struct client_watch *watches, size_t count,
		 int wait_ms)
{
	struct curl_waitfd fds[WATCHES_MAX];
	unsigned used = 0;
	int ready = 0;

	begin_new(client);
	count = count < WATCHES_MAX ? count : WATCHES_MAX;
	for (size_t i = 0; i < count; i++) {
		if (watches[i].fd >= 0)
			fds[used++] = (struct curl_waitfd){
				.fd = watches[i].fd,
				.events = watches[i].is_for_end ? 0 : CURL_WAIT_POLLIN};
	}
	(void)client->curl.multi_poll(client->multi, fds, used, wait_ms, &ready);
	serve_watches(watches, count);
}

static void drop_requests(struct client *client)
{
	struct client_request *next = NULL;

	for (struct client_request *one = LIST_FIRST(&client->requests); one != NULL; one = next) {
		next = LIST_NEXT(one, entry);
		client_request_free(one);
	}
}

int client_call(struct client *client, const struct client_call *call, struct buf *ret_body,
		struct err *err)
{
	struct client_request *request = client_send(client, call, NULL);
	int r;

	client->is_stopped = false;
	request->is_waited_for = true;
	while (!request->is_done && !client->is_stopped) {
		client_work(client);
		if (!request->is_done)
			client_wait(client, call->watches, call->watch_count, WAIT_MS);
	}
	if (request->is_done)
		r = outcome(request, err);
	else
		r = err_set(err, ERR_INTERNAL, ECANCELED, "cancelled");
	if (r == 0 && ret_body != NULL) {
		*ret_body = request->body;
		buf_init(&request->body, 0);
	}
	drop_requests(client);
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
		(void)err_set(err, ERR_INTERNAL, EPROTO, "%s sent an answer that is not JSON",
			      client->way.address);
	buf_done(&body);
	return answer;
}

void client_aside(struct client *client, const char *method, const char *path, json_t *take_body,
		  void (*done)(void *user, const struct err *why), void *user)
{
	char *text = take_body != NULL ? json_dumps(take_body, JSON_COMPACT) : NULL;
	const struct client_call call = {
		.method = method,
		.path = path,
		.json = text,
		.json_size = text != NULL ? strlen(text) : 0,
		.done = done,
		.user = user,
	};

	json_decref(take_body);
	(void)client_send(client, &call, text);
}

void client_close(struct client *client)
{
	if (client == NULL)
		return;
	drop_requests(client);
	if (client->multi != NULL)
		(void)client->curl.multi_cleanup(client->multi);
	client_way_done(&client->way);
	free(client);
}
