// SPDX-License-Identifier: Apache-2.0
/*
 * Fake http - the transport's functions for a request that never touched a socket
 *
 * Owns:    what the router is told of a request, and what it answered.
 * May not: be linked together with the real one.
 */
#pragma once

#include "base/c.h"
#include "http/http.h"
#include "unit.h"

#define FAKE_PAIRS_MAX 16

struct http_request {
	const char *method, *path;
	const char *headers[2 * FAKE_PAIRS_MAX]; /* name, value, ... NULL */
	const char *query[2 * FAKE_PAIRS_MAX];
	int64_t body_size;
	bool is_unix;
	void *user;

	bool is_answered;
	unsigned status;
	char told[2048]; /* "Name: value\n" of every header of the answer */
	char type[64];
	struct buf body;
	bool is_stream;
	struct http_source source;
	unsigned ready_count;
};

void http_set_user(struct http_request *request, void *user)
{
	request->user = user;
}

void *http_user(const struct http_request *request)
{
	return request->user;
}

const char *http_query(const struct http_request *request, const char *name)
{
	for (size_t i = 0; request->query[i] != NULL; i += 2) {
		if (strcmp(request->query[i], name) == 0)
			return request->query[i + 1];
	}
	return NULL;
}

const char *http_method(const struct http_request *request)
{
	return request->method;
}

const char *http_path(const struct http_request *request)
{
	return request->path;
}

void http_each_query(const struct http_request *request,
		     bool (*each)(void *user, const char *name, const char *value), void *user)
{
	for (size_t i = 0; request->query[i] != NULL; i += 2) {
		if (!each(user, request->query[i], request->query[i + 1]))
			return;
	}
}

const char *http_header(const struct http_request *request, const char *name)
{
	for (size_t i = 0; request->headers[i] != NULL; i += 2) {
		if (strcasecmp(request->headers[i], name) == 0)
			return request->headers[i + 1];
	}
	return NULL;
}

bool http_header_is_twice(const struct http_request *request, const char *name)
{
	size_t found = 0;

	for (size_t i = 0; request->headers[i] != NULL; i += 2)
		found += strcasecmp(request->headers[i], name) == 0;
	return found > 1;
}

bool http_hold(struct http_request *request, uint64_t size)
{
	(void)request;
	(void)size;
	return true;
}

bool http_own(struct http_request *request, const void *owner)
{
	(void)request;
	(void)owner;
	return true;
}

int64_t http_body_size(const struct http_request *request)
{
	return request->body_size;
}

bool http_is_unix(const struct http_request *request)
{
	return request->is_unix;
}

void http_peer(const struct http_request *request, char *ret_text, size_t size)
{
	(void)snprintf(ret_text, size, "%s", request->is_unix ? "unix" : "127.0.0.1");
}

bool http_peer_uid(const struct http_request *request, uid_t *ret_uid)
{
	*ret_uid = getuid();
	return request->is_unix;
}

static void keep_answer(struct http_request *request, unsigned status, const char *const *headers,
			const char *type)
{
	size_t used = 0;

	assert_false(request->is_answered);
	request->is_answered = true;
	request->status = status;
	(void)snprintf(request->type, sizeof(request->type), "%s", type != NULL ? type : "");
	for (; headers != NULL && headers[0] != NULL; headers += 2)
		used += (size_t)snprintf(request->told + used, sizeof(request->told) - used,
					 "%s: %s\n", headers[0], headers[1]);
}

void http_reply(struct http_request *request, unsigned status, const char *const *headers,
		const char *type, struct buf *take_body)
{
	keep_answer(request, status, headers, type);
	request->body = *take_body;
	buf_init(take_body, take_body->max);
}

void http_stream(struct http_request *request, unsigned status, const char *const *headers,
		 const char *type, int64_t size, const struct http_source *source)
{
	(void)size;
	keep_answer(request, status, headers, type);
	request->is_stream = true;
	request->source = *source;
}

void http_ready(struct http_request *request)
{
	request->ready_count++;
}

/* Does what http_close and the end of an answer do. */
static inline void fake_gone(struct http_request *request, const struct http_calls *calls,
			     void *user)
{
	if (request->is_stream && request->source.close != NULL)
		request->source.close(request->source.user);
	calls->gone(user, request, request->is_answered);
	buf_done(&request->body);
}

/* Head, body in pieces of three bytes, complete: as long as nobody has answered. */
static inline void fake_ask(struct http_request *request, const struct http_calls *calls,
			    void *user, const char *body)
{
	size_t size = body != NULL ? strlen(body) : 0;

	calls->head(user, request);
	for (size_t at = 0; !request->is_answered && at < size; at += 3) {
		size_t n = size - at < 3 ? size - at : 3;

		assert_int_equal(calls->body(user, request, body + at, n), n);
	}
	if (!request->is_answered)
		calls->complete(user, request);
}
