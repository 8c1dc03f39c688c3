// SPDX-License-Identifier: Apache-2.0
#include "page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <netinet/in.h>
#include <sys/random.h>

#include "base/c.h"
#include "base/json.h"
#include "page/files.h"

#define ASSETS "/assets/"
#define NONCE_BYTES 16
#define CSP_MAX 640
#define HEADERS_MAX 24
#define TEXT_MAX (1U << 20)
#define HTML "text/html; charset=utf-8"

struct page {
	const struct access *access; /* borrowed, as the router */
	struct router *router;
};

/* One request. */
struct visit {
	const struct page_file *file; /* of a stream: what is sent, */
	size_t sent;                  /* and how much of it */
	const char *route;
	unsigned status;
	uint64_t start_ns;
};

struct headers {
	const char *items[HEADERS_MAX + 1]; /* name, value, ... NULL */
	size_t count;
};

static void add(struct headers *headers, const char *name, const char *value)
{
	if (headers->count + 2 > HEADERS_MAX)
		return;
	headers->items[headers->count++] = name;
	headers->items[headers->count++] = value;
}

/* On everything. No other site may load or open any of it, nor learn where a person came from. */
static void add_common(struct headers *headers, const char *cache)
{
	add(headers, "Cache-Control", cache);
	add(headers, "X-Content-Type-Options", "nosniff");
	add(headers, "Referrer-Policy", "no-referrer");
	add(headers, "Cross-Origin-Resource-Policy", "same-origin");
}

/* ---- what a request asks for ---- */

static const struct page_file *find_file(const char *path)
{
	const struct page_file *file = page_files;

	if (strncmp(path, ASSETS, strlen(ASSETS)) != 0)
		return NULL;
	while (file->name != NULL && strcmp(file->name, path + strlen(ASSETS)) != 0)
		file++;
	return file->name != NULL ? file : NULL;
}

static const char *route_of(const char *path)
{
	if (strcmp(path, "/") == 0)
		return "/";
	if (strcmp(path, "/frame") == 0)
		return "/frame";
	return strncmp(path, ASSETS, strlen(ASSETS)) == 0 ? "/assets/{name}" : NULL;
}

static bool is_get(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

bool page_knows(const struct page *page, const char *method, const char *path)
{
	return page != NULL && (method == NULL || is_get(method)) && route_of(path) != NULL;
}

/* Is `word` in a list of a header, without q=0? `*` stands for every word. */
static bool is_listed(const char *list, const char *word, bool *ret_is_refused)
{
	bool is_found = false;

	while (*list != '\0') {
		const char *item = list + strspn(list, " \t,");
		size_t size = strcspn(item, " \t,;");
		const char *rest = item + size + strspn(item + size, " \t");
		bool is_word = size == strlen(word) && strncasecmp(item, word, size) == 0;
		const char *weight = rest + strspn(rest, "; \t");
		bool is_refused = strncasecmp(weight, "q=0", 3) == 0 &&
				  strspn(weight + 3, ".0") == strcspn(weight + 3, " \t,");

		if (is_word && is_refused)
			*ret_is_refused = true;
		if (!is_refused && (is_word || (size == 1 && item[0] == '*')))
			is_found = true;
		list = rest + strcspn(rest, ",");
	}
	return is_found;
}

/* Without the header every coding is fine (RFC 9110, 12.5.3). */
static bool accepts_gzip(const struct http_request *request)
{
	const char *header = http_header(request, "Accept-Encoding");
	bool is_refused = false;

	return header == NULL || (is_listed(header, "gzip", &is_refused) && !is_refused);
}

/* Has the client this one already? A W/ in front changes nothing here (RFC 9110, 13.1.2). */
static bool has_tag(const struct http_request *request, const char *tag)
{
	const char *header = http_header(request, "If-None-Match");
	const char *found = header != NULL ? strstr(header, tag) : NULL;

	return header != NULL && (found != NULL || strcmp(header, "*") == 0);
}

/* ---- answers ---- */

static void refuse(struct http_request *request, unsigned status, enum err_kind kind,
		   const char *message)
{
	struct visit *visit = http_user(request);
	struct headers headers = {0};
	struct buf body;

	add_common(&headers, "no-store");
	if (status == 405 || status == 204)
		add(&headers, "Allow", "GET, HEAD, OPTIONS");
	buf_init(&body, TEXT_MAX);
	if (status != 204) {
		(void)buf_format(&body,
				 "{\"error\":{\"kind\":\"%s\",\"message\":", err_kind_name(kind));
		(void)json_put_text(&body, message);
		(void)buf_text(&body, "}}\n");
	}
	visit->status = status;
	http_reply(request, status, headers.items, body.size > 0 ? "application/json" : NULL,
		   &body);
}

static void reply_html(struct http_request *request, const char *policy, struct buf *take_body)
{
	struct visit *visit = http_user(request);
	struct headers headers = {0};

	add_common(&headers, "no-store");
	add(&headers, "Content-Security-Policy", policy);
	add(&headers, "Cross-Origin-Opener-Policy", "same-origin");
	/* Where a note has a link the browser would ask for its host's address unasked. */
	add(&headers, "X-DNS-Prefetch-Control", "off");
	add(&headers, "Permissions-Policy",
	    "accelerometer=(), autoplay=(), camera=(), clipboard-read=(), "
	    "clipboard-write=(self), display-capture=(), encrypted-media=(), fullscreen=(), "
	    "geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), "
	    "magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), "
	    "publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), "
	    "xr-spatial-tracking=()");
	visit->status = 200;
	http_reply(request, 200, headers.items, HTML, take_body);
}

static void make_nonce(char ret_nonce[2 * NONCE_BYTES + 1])
{
	uint8_t random[NONCE_BYTES];

	/* Up to 256 bytes never come short once the pool is ready (man 2 getrandom). */
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort();
	for (size_t i = 0; i < NONCE_BYTES; i++)
		(void)snprintf(ret_nonce + 2 * i, 3, "%02x", random[i]);
}

/* The document with the nonce where its place is kept. */
static int put_index(struct buf *body, const char *nonce)
{
	const char *at = page_index.data;
	const char *end = at + page_index.size;
	int r = 0;

	while (r == 0 && at < end) {
		const char *place = memmem(at, (size_t)(end - at), PAGE_NONCE, strlen(PAGE_NONCE));
		const char *stop = place != NULL ? place : end;

		r = buf_append(body, at, (size_t)(stop - at));
		if (r == 0 && place != NULL)
			r = buf_text(body, nonce);
		at = place != NULL ? place + strlen(PAGE_NONCE) : end;
	}
	return r;
}

static void answer_index(struct http_request *request)
{
	char nonce[2 * NONCE_BYTES + 1];
	char policy[CSP_MAX];
	struct buf body;

	make_nonce(nonce);
	(void)snprintf(policy, sizeof(policy),
		       "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; "
		       "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "
		       "worker-src 'self'; frame-src 'self'; base-uri 'none'; "
		       "form-action 'none'; frame-ancestors 'none'",
		       nonce);
	buf_init(&body, TEXT_MAX);
	if (put_index(&body, nonce) < 0) {
		buf_done(&body);
		refuse(request, 500, ERR_INTERNAL, "no memory for the page");
		return;
	}
	reply_html(request, policy, &body);
}

/* What shows HTML and plotly figures that a sandbox made: no origin, no network, no script but
 * ours. */
static void answer_frame(struct http_request *request)
{
	char policy[CSP_MAX];
	struct buf body;

	(void)snprintf(policy, sizeof(policy),
		       "default-src 'none'; script-src %s; style-src 'unsafe-inline'; "
		       "img-src data: blob:; base-uri 'none'; form-action 'none'; "
		       "frame-ancestors 'self'; sandbox allow-scripts",
		       page_frame_sums);
	buf_init(&body, TEXT_MAX);
	if (buf_append(&body, page_frame.data, page_frame.size) < 0) {
		buf_done(&body);
		refuse(request, 500, ERR_INTERNAL, "no memory for the frame");
		return;
	}
	reply_html(request, policy, &body);
}

static int64_t read_file(void *user, void *data, size_t room)
{
	struct visit *visit = user;
	size_t left = visit->file->size - visit->sent;
	size_t n = left < room ? left : room;

	if (n == 0)
		return -1;
	memcpy(data, visit->file->data + visit->sent, n);
	visit->sent += n;
	return (int64_t)n;
}

static void answer_file(struct http_request *request)
{
	struct visit *visit = http_user(request);
	const struct page_file *file = find_file(http_path(request));
	struct headers headers = {0};
	struct buf none;

	if (file == NULL) {
		refuse(request, 404, ERR_NOT_FOUND, "there is no such file of the page");
		return;
	}
	if (!accepts_gzip(request)) {
		refuse(request, 406, ERR_UNSUPPORTED, "this is only there with the coding gzip");
		return;
	}
	add_common(&headers, "public, max-age=31536000, immutable");
	add(&headers, "ETag", file->tag);
	add(&headers, "Vary", "Accept-Encoding");
	if (has_tag(request, file->tag)) {
		visit->status = 304;
		buf_init(&none, 0);
		http_reply(request, 304, headers.items, NULL, &none);
		return;
	}
	add(&headers, "Content-Encoding", "gzip");
	visit->status = 200;
	visit->file = file;
	http_stream(request, 200, headers.items, file->type, (int64_t)file->size,
		    &(const struct http_source){.read = read_file, .user = visit});
}

/* ---- the transport's calls ---- */

static int check_hosts(const struct page *page, const struct http_request *request, struct err *err)
{
	char peer[INET6_ADDRSTRLEN];
	const struct access_request asked = {
		.host = http_header(request, "Host"),
		.origin = http_header(request, "Origin"),
		.peer = http_is_unix(request) ? NULL : peer,
	};

	http_peer(request, peer, sizeof(peer));
	return access_check_hosts(page->access, &asked, err);
}

static void on_head(void *user, struct http_request *request)
{
	struct page *page = user;
	struct visit *visit = xnew(struct visit);
	const char *method = http_method(request);
	struct err err = {0};

	visit->route = route_of(http_path(request));
	visit->start_ns = now_ns();
	http_set_user(request, visit);
	router_enter(page->router);
	if (check_hosts(page, request, &err) < 0)
		refuse(request, router_status(&err), err.kind, err.text);
	else if (strcmp(method, "OPTIONS") == 0)
		refuse(request, 204, ERR_NONE, "");
	else if (!is_get(method))
		refuse(request, 405, ERR_UNSUPPORTED, "this path takes GET, HEAD");
}

static size_t on_body(void *user, struct http_request *request, const void *data, size_t size)
{
	(void)user;
	(void)request;
	(void)data;
	return size;
}

static void on_complete(void *user, struct http_request *request)
{
	const struct visit *visit = http_user(request);
	const char *path = http_path(request);

	(void)user;
	if (visit->status != 0)
		return;
	if (strcmp(path, "/") == 0)
		answer_index(request);
	else if (strcmp(path, "/frame") == 0)
		answer_frame(request);
	else
		answer_file(request);
}

static void on_gone(void *user, struct http_request *request, bool is_sent)
{
	struct page *page = user;
	struct visit *visit = http_user(request);
	const struct router_finished finished = {
		.route = visit->route,
		.method = "GET",
		.status = visit->status,
		.seconds = (double)(now_ns() - visit->start_ns) / 1e9,
	};

	(void)is_sent;
	free(visit);
	router_leave(page->router, &(struct router_held){0}, &finished);
}

const struct http_calls page_calls = {
	.head = on_head, .body = on_body, .complete = on_complete, .gone = on_gone};

struct page *page_new(const struct access *access, struct router *router)
{
	struct page *page = NULL;

	if (page_index.size == 0)
		return NULL;
	page = xnew(struct page);
	page->access = access;
	page->router = router;
	return page;
}

void page_free(struct page *page)
{
	free(page);
}
