// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/c.h"
#include "fuzz.h"
#include "http/http.h"

/* The server's treatment of a request: the second byte of an input. */
enum {
	AT_THE_END,
	IN_THE_HEAD,
	IN_THE_BODY,
	BY_STREAM,
	IN_SIPS,
	MODES,
};

struct trial {
	const uint8_t *bytes;
	size_t size;
	unsigned mode;
	unsigned told, gone, streams;
	int64_t body;
	size_t given;
};

static bool is_blank_line(const uint8_t *line, size_t size)
{
	return size == 0 || line[0] == '\0' || (size == 1 && line[0] == '\r');
}

/* The first head that is taken stands in the bytes as the standard wants it, but for what strict.h
 * says cannot be told apart: a NUL for the CR, and a NUL or a colon at the end. */
static void claim_head(const struct trial *trial)
{
	const uint8_t *at = trial->bytes, *limit = trial->bytes + trial->size;
	bool is_begun = false;

	while (at < limit) {
		const uint8_t *feed = memchr(at, '\n', (size_t)(limit - at));
		size_t size = feed != NULL ? (size_t)(feed - at) : 0;

		CLAIM(feed != NULL);
		if (is_begun && (is_blank_line(at, size) || at[0] == ':'))
			return;
		if (!is_blank_line(at, size)) {
			bool is_last = feed + 1 < limit && (feed[1] == ':' || feed[1] == '\0');

			CLAIM(feed[-1] == '\r' || feed[-1] == '\0' || is_last);
			CLAIM(at[0] != ' ' && at[0] != '\t');
			is_begun = true;
		}
		at = feed + 1;
	}
	CLAIM(false);
}

static int64_t source_read(void *user, void *data, size_t room)
{
	struct trial *trial = user;

	if (trial->given >= 100000)
		return -1;
	memset(data, 'x', room);
	trial->given += room;
	return (int64_t)room;
}

static void source_close(void *user)
{
	struct trial *trial = user;

	CLAIM(trial->streams == 1);
	trial->streams--;
}

static void answer(struct trial *trial, struct http_request *request)
{
	const struct http_source source = {source_read, source_close, trial};
	const char *text = http_query(request, "a");
	struct buf body;

	if (trial->mode == BY_STREAM) {
		trial->streams++;
		trial->given = 0;
		http_stream(request, 200, NULL, NULL, -1, &source);
		return;
	}
	buf_init(&body, 1 << 20);
	CLAIM(buf_text(&body, text != NULL ? text : http_method(request)) == 0);
	http_reply(request, 200, NULL, http_header(request, "Accept"), &body);
}

static void on_head(void *user, struct http_request *request)
{
	struct trial *trial = user;

	if (trial->told++ == 0)
		claim_head(trial);
	CLAIM(trial->told == trial->gone + 1);
	CLAIM(http_path(request)[0] == '/' || http_path(request)[0] == '*');
	CLAIM(http_body_size(request) >= -1);
	trial->body = 0;
	if (trial->mode == IN_THE_HEAD)
		answer(trial, request);
}

static size_t on_body(void *user, struct http_request *request, const void *data, size_t size)
{
	struct trial *trial = user;
	size_t n = trial->mode == IN_SIPS ? (size + 1) / 2 : size;
	int64_t expected = http_body_size(request);

	CLAIM(size > 0 && data != NULL);
	trial->body += (int64_t)n;
	CLAIM(expected == -1 || trial->body <= expected);
	if (trial->mode == IN_THE_BODY)
		answer(trial, request);
	else if (n < size)
		http_resume(request);
	return n;
}

static void on_complete(void *user, struct http_request *request)
{
	struct trial *trial = user;
	int64_t expected = http_body_size(request);

	CLAIM(expected == -1 || trial->body == expected);
	answer(trial, request);
}

static void on_gone(void *user, struct http_request *request, bool is_sent)
{
	struct trial *trial = user;

	(void)request;
	(void)is_sent;
	CLAIM(trial->streams == 0);
	trial->gone++;
}

static void pump(uv_loop_t *loop, int client, bool *is_first)
{
	char bytes[65536];
	ssize_t n;

	for (int i = 0; i < 4; i++) {
		(void)uv_run(loop, UV_RUN_NOWAIT);
		while ((n = recv(client, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
			CLAIM(!*is_first || n < 9 || memcmp(bytes, "HTTP/1.1 ", 9) == 0);
			*is_first = false;
		}
	}
}

static void send_all(uv_loop_t *loop, int client, const uint8_t *bytes, size_t size, size_t split)
{
	bool is_first = true;

	while (size > 0) {
		size_t part = split > 0 && split < size ? split : size;
		ssize_t n = send(client, bytes, part, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN)
			break;
		pump(loop, client, &is_first);
		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		}
	}
	pump(loop, client, &is_first);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct http_settings settings = {.body_stall_ms = 100};
	static const struct http_calls calls = {on_head, on_body, on_complete, on_gone, NULL};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t address_size = sizeof(sa_family_t); /* the kernel picks an abstract name */
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct trial trial = {0};
	struct http *http = NULL;
	struct err err = {0};
	uv_loop_t loop;

	if (size >= 2 && size < (1 << 20)) {
		trial.bytes = bytes + 2;
		trial.size = size - 2;
		trial.mode = bytes[1] % MODES;
		CLAIM(uv_loop_init(&loop) == 0);
		CLAIM(bind(listener, (struct sockaddr *)&address, address_size) == 0);
		CLAIM(listen(listener, 1) == 0);
		address_size = sizeof(address);
		CLAIM(getsockname(listener, (struct sockaddr *)&address, &address_size) == 0);
		CLAIM(http_new(&loop, &settings, &calls, &trial, &http, &err) == 0);
		CLAIM(http_listen_fd(http, &listener, &err) == 0);
		CLAIM(connect(client, (struct sockaddr *)&address, address_size) == 0);
		send_all(&loop, client, trial.bytes, trial.size, bytes[0]);
		drop_fd(&client);
		while (http_connections(http) > 0)
			(void)uv_run(&loop, UV_RUN_ONCE);
		CLAIM(trial.told == trial.gone && trial.streams == 0);
		http_close(http);
		(void)uv_run(&loop, UV_RUN_DEFAULT);
		CLAIM(uv_loop_close(&loop) == 0);
	}
	drop_fd(&listener);
	drop_fd(&client);
	return 0;
}
