// SPDX-License-Identifier: Apache-2.0
/* The account of the memory that answers take until their clients have read them. */
#include "base/c.h"
#include "http/answer.h"
#include "http/server.h"

#define SMALL (32 * KIB) /* as much as the transport uses for any connection */
#define REFUSAL_MAX (4 * KIB)

/* Bytes held by the connections of one owner. Large answers are few, so no sum is kept. */
static uint64_t owner_held(const struct http *http, const void *owner)
{
	const struct conn *conn = NULL;
	uint64_t held = 0;

	TAILQ_FOREACH(conn, &http->conns, entry) {
		if (conn->owner == owner && conn->request != NULL)
			held += conn->request->held;
	}
	return held;
}

bool http_hold(struct http_request *request, uint64_t size)
{
	struct http *http = request->conn->http;
	const struct http_settings *settings = &http->settings;
	const void *owner = request->conn->owner;
	uint64_t before = request->held;

	size = size > SMALL ? size : 0;
	request->held = size;
	http->held += size - before;
	if (size <= before)
		return true;
	return http->held <= settings->held_max &&
	       (owner == NULL || settings->owner_held_max >= settings->held_max ||
		owner_held(http, owner) <= settings->owner_held_max);
}

unsigned held_refuse(const char *const *headers, struct held_headers *ret_headers,
		     struct buf *take_body)
{
	size_t count = 0;

	for (;
	     headers != NULL && headers[count] != NULL && count + 4 < ARRAY_LEN(ret_headers->items);
	     count++)
		ret_headers->items[count] = headers[count];
	ret_headers->items[count++] = MHD_HTTP_HEADER_RETRY_AFTER;
	ret_headers->items[count++] = "1";
	ret_headers->items[count] = NULL;
	buf_done(take_body);
	buf_init(take_body, REFUSAL_MAX);
	(void)buf_text(take_body,
		       "{\"error\":{\"kind\":\"busy\",\"message\":\"answers that were not read yet "
		       "fill the memory\",\"remedy\":\"read the answers that wait, or close their "
		       "connections, then try again\"}}\n");
	return MHD_HTTP_SERVICE_UNAVAILABLE;
}
