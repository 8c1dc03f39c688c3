// SPDX-License-Identifier: Apache-2.0
#include "page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sys/random.h>

#include "api/exchange.h"
#include "base/c.h"
#include "page/files.h"

#define NONCE_BYTES 16
#define CSP_MAX 640
#define TEXT_MAX (1U << 20)
#define NO_FILE "there is no such file of the page"
#define HTML "text/html; charset=utf-8"

/* The rest of a file that is being sent. */
struct sending {
	const struct page_file *file;
	size_t sent;
};

/* ---- what a request asks for ---- */

static const struct page_file *find_file(const char *name)
{
	const struct page_file *file = page_files;

	while (file->name != NULL && strcmp(file->name, name) != 0)
		file++;
	return file->name != NULL ? file : NULL;
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
static bool accepts_gzip(const struct exchange *exchange)
{
	const char *header = exchange_header(exchange, "Accept-Encoding");
	bool is_refused = false;

	return header == NULL || (is_listed(header, "gzip", &is_refused) && !is_refused);
}

/* Has the client this one already? A W/ in front changes nothing here (RFC 9110, 13.1.2). */
static bool has_tag(const struct exchange *exchange, const char *tag)
{
	const char *header = exchange_header(exchange, "If-None-Match");
	const char *found = header != NULL ? strstr(header, tag) : NULL;

	return header != NULL && (found != NULL || strcmp(header, "*") == 0);
}

/* ---- answers ---- */

static void fail(struct exchange *exchange, unsigned status, enum err_kind kind,
		 const char *message)
{
	struct err err = {0};

	(void)err_set(&err, kind, EIO, "%s", message);
	exchange_error(exchange, status, &err);
}

/* A name that cannot be decoded is none that we have. */
static void refuse(struct exchange *exchange, unsigned status, const struct err *err)
{
	if (err->kind == ERR_BAD_REQUEST)
		fail(exchange, 404, ERR_NOT_FOUND, NO_FILE);
	else
		exchange_error(exchange, status, err);
}

static void answer_html(struct exchange *exchange, const char *policy, struct buf *take_body)
{
	exchange_set_header(exchange, "Content-Security-Policy", policy);
	exchange_set_header(exchange, "Cross-Origin-Opener-Policy", "same-origin");
	/* Browsers would look up the hosts of links in a note without being asked to. */
	exchange_set_header(exchange, "X-DNS-Prefetch-Control", "off");
	exchange_set_header(
		exchange, "Permissions-Policy",
		"accelerometer=(), autoplay=(), camera=(), clipboard-read=(), "
		"clipboard-write=(self), display-capture=(), encrypted-media=(), fullscreen=(), "
		"geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), "
		"magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), "
		"publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), "
		"xr-spatial-tracking=()");
	exchange_answer_as(exchange, 200, HTML, take_body);
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

	while (at < end) {
		const char *place = memmem(at, (size_t)(end - at), PAGE_NONCE, strlen(PAGE_NONCE));
		const char *stop = place != NULL ? place : end;

		buf_append(body, at, (size_t)(stop - at));
		if (place != NULL)
			buf_text(body, nonce);
		at = place != NULL ? place + strlen(PAGE_NONCE) : end;
	}
	return body->failed;
}

static void answer_index(struct exchange *exchange)
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
		fail(exchange, 500, ERR_INTERNAL, "no memory for the page");
		return;
	}
	answer_html(exchange, policy, &body);
}

/* The frame that shows HTML and plotly figures from a sandbox: no origin, no network, no script but
 * ours. */
static void answer_frame(struct exchange *exchange)
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
		fail(exchange, 500, ERR_INTERNAL, "no memory for the frame");
		return;
	}
	answer_html(exchange, policy, &body);
}

static int64_t read_file(void *user, void *data, size_t room)
{
	struct sending *sending = user;
	size_t left = sending->file->size - sending->sent;
	size_t n = left < room ? left : room;

	if (n == 0)
		return -1;
	memcpy(data, sending->file->data + sending->sent, n);
	sending->sent += n;
	return (int64_t)n;
}

static void answer_file(struct exchange *exchange)
{
	const struct page_file *file = find_file(exchange_var(exchange, "name"));
	struct sending *sending;
	struct buf none;

	if (file == NULL) {
		fail(exchange, 404, ERR_NOT_FOUND, NO_FILE);
		return;
	}
	if (!accepts_gzip(exchange)) {
		fail(exchange, 406, ERR_UNSUPPORTED, "this is only there with the coding gzip");
		return;
	}
	exchange_set_header(exchange, "Cache-Control", "public, max-age=31536000, immutable");
	exchange_set_header(exchange, "ETag", file->tag);
	exchange_set_header(exchange, "Vary", "Accept-Encoding");
	if (has_tag(exchange, file->tag)) {
		buf_init(&none, 0);
		exchange_answer(exchange, 304, &none);
		return;
	}
	exchange_set_header(exchange, "Content-Encoding", "gzip");
	sending = exchange_memory(exchange, sizeof(*sending));
	sending->file = file;
	exchange_stream(exchange, 200, file->type, (int64_t)file->size,
			&(const struct op_source){.read = read_file, .user = sending});
}

static void answer_options(struct exchange *exchange)
{
	struct buf none;

	buf_init(&none, 0);
	exchange_set_header(exchange, "Allow", exchange->match.allow);
	exchange_answer(exchange, 204, &none);
}

/* ---- the door ---- */

#define ROUTE(path_, run_)                                                                         \
	{.method = "GET", .path = (path_), .is_open = true, .run = (run_)},                        \
	{                                                                                          \
		.method = "OPTIONS", .path = (path_), .is_open = true, .run = answer_options       \
	}

static const struct door_route routes[] = {
	ROUTE("/", answer_index),
	ROUTE("/frame", answer_frame),
	ROUTE("/assets/{name}", answer_file),
};

/* No other site may load or open any of it, nor learn where a person came from. */
static const char *const headers[] = {"Referrer-Policy", "no-referrer",
				      "Cross-Origin-Resource-Policy", "same-origin", NULL};

static const struct door door = {
	.name = "page",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	.is_public = true,
	.headers = headers,
	.refuse = refuse,
};

const struct door *page_door(void)
{
	return page_index.size > 0 ? &door : NULL;
}
