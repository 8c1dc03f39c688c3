// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "http/answer.h"
#include "http/server.h"
#include "http/strict.h"

#define PIECE (32 * KIB)      /* of an answer, between two deadline updates */
#define DISCARD_MAX (1 * MIB) /* of a body, after a stream was begun before its end */
#define REFUSAL_MAX (4 * KIB)

/* ---- the answer ---- */

static void source_close(struct http_request *request)
{
	struct http_source source = request->source;

	request->source = (struct http_source){0};
	if (source.read != NULL && source.close != NULL)
		source.close(source.user);
}

/* An answer that ends with the connection would look complete if the connection ended cleanly. */
static ssize_t break_off(struct http_request *request)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	if (request->is_old)
		(void)setsockopt(request->conn->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	else /* a connection just resumed is closed only after one more event, and this is one */
		(void)shutdown(request->conn->fd, SHUT_RDWR);
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* The client is reading: its deadline starts anew with each piece. */
static ssize_t stream_read(void *user, uint64_t position, char *data, size_t room)
{
	struct http_request *request = user;
	struct conn *conn = request->conn;
	int64_t n;

	(void)position;
	conn->http->progress++;
	if (conn->is_cut || request->source.read == NULL)
		return MHD_CONTENT_READER_END_WITH_ERROR;

	request->is_calling = true;
	request->is_woken = false;
	n = request->source.read(request->source.user, data, room);
	request->is_calling = false;
	if (n > 0 && (uint64_t)n <= room && !conn->is_cut) {
		request->left -= request->is_sized ? (uint64_t)n : 0;
		conn_enter(conn, CONN_SEND);
		return (ssize_t)n;
	}
	if (n == -1 && !(request->is_sized && request->left > 0) && !conn->is_cut)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n != 0 || conn->is_cut)
		return break_off(request);

	request->is_starved = true;
	conn_enter(conn, CONN_WAIT);
	conn_suspend(conn);
	if (request->is_woken)
		http_ready(request);
	return 0;
}

static ssize_t whole_read(void *user, uint64_t position, char *data, size_t room)
{
	struct http_request *request = user;
	size_t left = request->whole.size - (size_t)position;

	request->conn->http->progress++;
	if (request->conn->is_cut)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (left > room)
		left = room;
	memcpy(data, request->whole.data + position, left);
	conn_enter(request->conn, CONN_SEND);
	return (ssize_t)left;
}

static void set_answer(struct http_request *request, struct MHD_Response *take_response,
		       unsigned status, const char *const *headers, const char *type)
{
	request->answer = take_response;
	request->status = status;
	if (take_response == NULL)
		return;
	if (type != NULL)
		(void)MHD_add_response_header(take_response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (; headers != NULL && headers[0] != NULL; headers += 2)
		(void)MHD_add_response_header(take_response, headers[0], headers[1]);
	/* libmicrohttpd accepts chunk lines that end in a bare LF, so a proxy in front of us may
	 * see this body end elsewhere: what follows must not be taken for a request. */
	if (request->conn->http->is_draining || request->body_size < 0 || request->is_one_too_many)
		(void)MHD_add_response_header(take_response, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* A small answer leaves in one segment with its head; a large one is sent in pieces, to see each
 * one go. */
static struct MHD_Response *whole_response(struct http_request *request, struct buf *take_body)
{
	struct buf body = *take_body;
	struct MHD_Response *response;

	buf_init(take_body, take_body->max);
	if (body.size > PIECE) {
		request->whole = body;
		return MHD_create_response_from_callback(body.size, PIECE, whole_read, request,
							 NULL);
	}
	response = MHD_create_response_from_buffer(body.size, body.data, MHD_RESPMEM_MUST_FREE);
	if (response == NULL)
		buf_done(&body);
	return response;
}

static enum MHD_Result queue_answer(struct http_request *request)
{
	enum MHD_Result r;

	if (request->answer == NULL)
		return MHD_NO;
	conn_enter(request->conn, CONN_SEND);
	request->is_queued = true;
	r = MHD_queue_response(request->conn->mhd, request->status, request->answer);
	MHD_destroy_response(request->answer);
	request->answer = NULL;
	return r;
}

/* ---- libmicrohttpd's calls ---- */

void *on_target(void *user, const char *target, struct MHD_Connection *mhd)
{
	struct http *http = user;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_request *request = xnew(struct http_request);

	http->progress++;
	request->conn = info->socket_context;
	request->raw = target;
	request->target_size = target != NULL ? strlen(target) : 0;
	request->target = xcalloc(request->target_size + 1, 1);
	if (target != NULL)
		memcpy(request->target, target, request->target_size);
	request->conn->request = request;
	conn_enter(request->conn, CONN_HEAD);
	return request;
}

/* Refuses a request. Queued before the body is read, the answer closes the connection, which suits
 * a bad head. */
static enum MHD_Result refuse(struct http_request *request, unsigned status, const char *why)
{
	AUTO_BUF struct buf body = {.max = REFUSAL_MAX};

	answer_error(&body, status, why);
	request->conn->is_unread = true;
	set_answer(request, whole_response(request, &body), status, NULL, ANSWER_TYPE);
	return queue_answer(request);
}

static enum MHD_Result take_head(struct http_request *request, const char *method,
				 const char *version)
{
	struct conn *conn = request->conn;
	struct http *http = conn->http;
	const struct strict_head head = {
		.mhd = conn->mhd,
		.method = method,
		.target = request->raw,
		.text = request->target,
		.target_size = request->target_size,
		.version = version,
		.header_max = http->settings.header_max,
	};
	const char *why = NULL;
	unsigned status = strict_check(&head, &request->body_size, &why);
	char *mark;

	if (status != 0)
		return refuse(request, status, why);
	if (http->is_draining)
		return refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is stopping");

	request->method = method;
	request->is_old = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
	mark = strchr(request->target, '?');
	if (mark != NULL) {
		*mark = '\0';
		request->query = mark + 1;
	}
	request->is_told = true;
	conn_enter(conn, request->body_size != 0 ? CONN_BODY : CONN_WAIT);
	http->calls.head(http->user, request);
	/* Without a body libmicrohttpd calls again at once; an answer queued then keeps the
	 * connection alive. */
	if (!request->is_answered || request->body_size == 0)
		return MHD_YES;
	conn->is_unread = true;
	return queue_answer(request);
}

/* A stream has already answered: the client may finish sending its body, within limits. */
static enum MHD_Result discard(struct http_request *request, size_t *size)
{
	request->discarded += *size;
	*size = 0;
	conn_enter(request->conn, CONN_BODY);
	return request->discarded > DISCARD_MAX ? MHD_NO : MHD_YES;
}

static enum MHD_Result take_body(struct http_request *request, const char *data, size_t *size)
{
	struct conn *conn = request->conn;
	size_t taken;

	if (request->is_answered)
		return discard(request, size);
	conn_enter(conn, CONN_BODY);
	request->is_woken = false;
	request->is_in_body = true;
	taken = conn->http->calls.body(conn->http->user, request, data, *size);
	request->is_in_body = false;
	if (conn->is_cut)
		return MHD_NO;
	if (request->is_answered)
		return discard(request, size);
	*size -= taken < *size ? taken : *size;
	if (*size == 0)
		return MHD_YES;

	request->is_held = true;
	conn_enter(conn, CONN_WAIT);
	conn_suspend(conn);
	request->is_calling = false;
	if (request->is_woken)
		http_resume(request);
	return MHD_YES;
}

static enum MHD_Result take_end(struct http_request *request)
{
	struct conn *conn = request->conn;

	if (!request->is_complete) {
		request->is_complete = true;
		conn_enter(conn, CONN_WAIT);
		if (!request->is_answered)
			conn->http->calls.complete(conn->http->user, request);
		if (conn->is_left && !request->is_answered)
			exchange_left(request);
	}
	if (conn->is_cut)
		return MHD_NO;
	if (request->is_answered)
		return queue_answer(request);
	conn_suspend(conn);
	return MHD_YES;
}

enum MHD_Result on_request(void *user, struct MHD_Connection *mhd, const char *url,
			   const char *method, const char *version, const char *data, size_t *size,
			   void **context)
{
	struct http *http = user;
	struct http_request *request = *context;
	enum MHD_Result r;

	(void)mhd;
	(void)url;
	http->progress++;
	if (request->conn->is_cut)
		return MHD_NO;
	request->is_calling = true;
	if (!request->is_told)
		r = take_head(request, method, version);
	else if (*size > 0)
		r = take_body(request, data, size);
	else
		r = take_end(request);
	request->is_calling = false;
	return r;
}

void on_completed(void *user, struct MHD_Connection *mhd, void **context,
		  enum MHD_RequestTerminationCode why)
{
	struct http *http = user;
	struct http_request *request = *context;
	bool is_sent;

	(void)mhd;
	http->progress++;
	if (request == NULL)
		return;
	*context = NULL;
	request->conn->request = NULL;
	request->conn->has_answered = true;
	request->conn->received = RECEIVED_UNKNOWN;
	is_sent = (request->is_queued && why == MHD_REQUEST_TERMINATED_COMPLETED_OK) ||
		  request->is_tail_sent;
	source_close(request);
	(void)http_hold(request, 0);
	if (request->answer != NULL)
		MHD_destroy_response(request->answer);
	if (request->is_told)
		http->calls.gone(http->user, request, is_sent);
	TAILQ_REMOVE(&http->conns, request->conn, entry);
	TAILQ_INSERT_TAIL(&http->conns, request->conn, entry);
	conn_enter(request->conn, CONN_IDLE);
	if (http->is_draining && !request->conn->is_unread)
		(void)shutdown(request->conn->fd, SHUT_RD);
	request_free(request);
}

void exchange_left(struct http_request *request)
{
	const struct http *http = request->conn->http;

	if (!request->is_told || request->is_left_told || http->calls.left == NULL)
		return;
	request->is_left_told = true;
	http->calls.left(http->user, request);
}

/* ---- answering ---- */

/*
 * In the middle of a body libmicrohttpd accepts no answer, so we write it ourselves, and the
 * connection ends with it (linger.h). Bytes that the kernel does not take at once are sent after
 * libmicrohttpd has let go.
 */
static void answer_now(struct http_request *request, unsigned status, const char *const *headers,
		       const char *type, const struct buf *body)
{
	struct conn *conn = request->conn;
	bool has_body = strcmp(request->method, MHD_HTTP_METHOD_HEAD) != 0;

	answer_text(&conn->tail, status, headers, type, body, has_body);
	request->is_tail_sent = conn_say(conn);
	conn_finish(conn);
}

/* Can libmicrohttpd still be given an answer for this request, in this call or the next? */
static bool is_in_time(const struct http_request *request)
{
	if (request->is_complete)
		return true;
	return request->is_calling && !request->is_in_body;
}

static void go_on(struct http_request *request)
{
	if (!request->is_calling)
		conn_resume(request->conn);
}

void http_reply(struct http_request *request, unsigned status, const char *const *headers,
		const char *type, struct buf *take_body)
{
	struct buf body = *take_body;
	struct held_headers refused;

	buf_init(take_body, take_body->max);
	if (!request->is_answered && !request->conn->is_cut && !request->conn->http->is_closing) {
		request->is_answered = true;
		if (!http_hold(request, body.size)) {
			(void)http_hold(request, 0);
			status = held_refuse(headers, &refused, &body);
			headers = refused.items;
			type = ANSWER_TYPE;
		}
		if (is_in_time(request)) {
			set_answer(request, whole_response(request, &body), status, headers, type);
			go_on(request);
		} else {
			answer_now(request, status, headers, type, &body);
		}
	}
	buf_done(&body);
}

void http_stream(struct http_request *request, unsigned status, const char *const *headers,
		 const char *type, int64_t size, const struct http_source *source)
{
	uint64_t total = size >= 0 ? (uint64_t)size : MHD_SIZE_UNKNOWN;

	if (request->is_answered || request->conn->is_cut || request->conn->http->is_closing) {
		if (source->close != NULL)
			source->close(source->user);
		return;
	}
	request->is_answered = true;
	request->source = *source;
	request->is_sized = size >= 0;
	request->left = size >= 0 ? (uint64_t)size : 0;
	set_answer(request,
		   MHD_create_response_from_callback(total, PIECE, stream_read, request, NULL),
		   status, headers, type);
	request->is_held = false;
	go_on(request);
}

void http_ready(struct http_request *request)
{
	request->is_woken = true;
	if (!request->is_starved || request->is_calling)
		return;
	request->is_starved = false;
	conn_enter(request->conn, CONN_SEND);
	conn_resume(request->conn);
}

void http_resume(struct http_request *request)
{
	request->is_woken = true;
	if (!request->is_held || request->is_calling)
		return;
	request->is_held = false;
	conn_enter(request->conn, CONN_BODY);
	conn_resume(request->conn);
}

/* ---- what we answer ourselves, before there is a request ---- */

static void say_error(struct conn *conn, unsigned status, const char *why)
{
	AUTO_BUF struct buf body = {.max = REFUSAL_MAX};

	answer_error(&body, status, why);
	answer_text(&conn->tail, status, NULL, ANSWER_TYPE, &body, true);
	(void)conn_say(conn);
}

/* libmicrohttpd reports a complete head at once, or says that it refuses it. */
static bool is_refused(const struct conn *conn)
{
	return conn->phase == CONN_HEAD &&
	       MHD_get_connection_info(conn->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE) != NULL;
}

/*
 * libmicrohttpd 0.9.75 sends the head of its own answer twice when it refuses a request for its
 * Host or Content-Length. It writes to its log before it sends: then we answer ourselves, and its
 * own answer finds our end closed.
 */
void on_message(void *user, const char *format, va_list args)
{
	struct http *http = user;
	struct conn *conn;

	(void)format;
	(void)args;
	TAILQ_FOREACH(conn, &http->conns, entry) {
		if (conn->is_cut || !is_refused(conn))
			continue;
		say_error(conn, MHD_HTTP_BAD_REQUEST,
			  MHD_lookup_connection_value(conn->mhd, MHD_HEADER_KIND,
						      MHD_HTTP_HEADER_HOST) == NULL
				  ? STRICT_HOST
				  : STRICT_LENGTH);
		(void)shutdown(conn->fd, SHUT_WR);
		conn_finish(conn);
	}
}

void exchange_expire(struct conn *conn)
{
	struct http_request *request = conn->request;
	struct linger hard = {.l_onoff = 1, .l_linger = 0};

	if (conn->phase == CONN_SEND) {
		/* Its buffers are full and stay full: a reset frees them now. */
		(void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	} else if (request == NULL || !request->is_answered) {
		say_error(conn, MHD_HTTP_REQUEST_TIMEOUT, "the rest of the request did not come");
	}
	conn_cut(conn);
}
