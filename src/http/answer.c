// SPDX-License-Identifier: Apache-2.0
#include "http/answer.h"

#include <microhttpd.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"

static enum err_kind kind_of(unsigned status)
{
	switch (status) {
	case MHD_HTTP_SERVICE_UNAVAILABLE:
		return ERR_BUSY;
	case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE:
		return ERR_TOO_LARGE;
	case MHD_HTTP_NOT_IMPLEMENTED:
	case MHD_HTTP_EXPECTATION_FAILED:
		return ERR_UNSUPPORTED;
	case MHD_HTTP_INTERNAL_SERVER_ERROR:
		return ERR_INTERNAL;
	default:
		return ERR_BAD_REQUEST;
	}
}

void answer_error(struct buf *buf, unsigned status, const char *message)
{
	json_put(buf, "{'error':{'kind':%s,'message':%s}}\n", err_kind_name(kind_of(status)),
		 message);
}

/* A line break in a value would let its author inject a header. */
static bool is_one_line(const char *text)
{
	return strpbrk(text, "\r\n") == NULL;
}

void answer_text(struct buf *buf, unsigned status, const char *const *headers, const char *type,
		 const struct buf *body, bool has_body)
{
	const char *reason = MHD_get_reason_phrase_for(status);

	(void)buf_format(buf, "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Length: %zu\r\n",
			 status, reason, body->size);
	if (type != NULL && is_one_line(type))
		(void)buf_format(buf, "Content-Type: %s\r\n", type);
	for (; headers != NULL && headers[0] != NULL; headers += 2) {
		if (is_one_line(headers[0]) && is_one_line(headers[1]))
			(void)buf_format(buf, "%s: %s\r\n", headers[0], headers[1]);
	}
	(void)buf_text(buf, "\r\n");
	if (has_body)
		(void)buf_append(buf, body->data, body->size);
}
