// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>

#include "base/c.h"
#include "http/server.h"

/* The accessors of a request. */

/* Decodes form text: '+' is a space, a '%' that starts no byte stays as it is. */
static char *decode(const char *text, size_t size)
{
	char *out = xcalloc(size + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		int high = i + 2 < size && text[i] == '%' ? hex_digit(text[i + 1]) : -1;
		int low = high >= 0 ? hex_digit(text[i + 2]) : -1;

		if (low >= 0) {
			out[n++] = (char)(high * 16 + low);
			i += 2;
		} else {
			out[n] = text[i];
			if (text[i] == '+')
				out[n] = ' ';
			n++;
		}
	}
	return out;
}

static char **decode_pairs(const char *query)
{
	size_t count = 1;
	char **pairs;
	size_t n = 0;

	for (const char *at = query; *at != '\0'; at++)
		count += *at == '&';
	pairs = xcalloc(2 * count + 1, sizeof(*pairs));
	while (*query != '\0') {
		size_t size = strcspn(query, "&");
		size_t name = strcspn(query, "=&");

		if (size > 0) {
			pairs[n++] = decode(query, name);
			pairs[n++] = name < size ? decode(query + name + 1, size - name - 1)
						 : decode("", 0);
		}
		query += size + (query[size] == '&');
	}
	return pairs;
}

void request_free(struct http_request *request)
{
	for (size_t i = 0; request->pairs != NULL && request->pairs[i] != NULL; i++)
		free(request->pairs[i]);
	free((void *)request->pairs);
	free(request->target);
	buf_done(&request->whole);
	free(request);
}

bool http_own(struct http_request *request, const void *owner)
{
	struct conn *own = request->conn;
	struct conn *conn = NULL;
	struct conn *left = NULL;
	uint32_t same = 0;

	if (owner != NULL && own->owner != owner) {
		TAILQ_FOREACH(conn, &own->http->conns, entry) {
			if (conn->owner != owner || conn->is_cut)
				continue;
			same++;
			if (left == NULL && conn->is_left)
				left = conn;
		}
	}
	/* A connection whose client closed its end may still be read, so it counts; it is closed
	 * first. */
	if (left != NULL && same >= own->http->settings.owner_max) {
		conn_cut(left);
		same--;
	}
	request->is_one_too_many = same >= own->http->settings.owner_max;
	if (!request->is_one_too_many)
		own->owner = owner;
	return !request->is_one_too_many;
}

void http_set_user(struct http_request *request, void *user)
{
	request->user = user;
}

void *http_user(const struct http_request *request)
{
	return request->user;
}

const char *http_method(const struct http_request *request)
{
	return request->method;
}

const char *http_path(const struct http_request *request)
{
	return request->target;
}

static char **pairs_of(const struct http_request *request)
{
	/* A cache, made on first use: most requests have no query. */
	struct http_request *own = (struct http_request *)(uintptr_t)request;

	if (own->pairs == NULL)
		own->pairs = decode_pairs(own->query != NULL ? own->query : "");
	return own->pairs;
}

const char *http_query(const struct http_request *request, const char *name)
{
	for (char **pair = pairs_of(request); pair[0] != NULL; pair += 2) {
		if (strcmp(pair[0], name) == 0)
			return pair[1];
	}
	return NULL;
}

void http_each_query(const struct http_request *request,
		     bool (*each)(void *user, const char *name, const char *value), void *user)
{
	for (char **pair = pairs_of(request); pair[0] != NULL; pair += 2) {
		if (!each(user, pair[0], pair[1]))
			return;
	}
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->conn->mhd, MHD_HEADER_KIND, name);
}

struct count {
	const char *name;
	unsigned found;
};

static enum MHD_Result count_header(void *user, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct count *count = user;

	(void)kind;
	(void)value;
	count->found += strcasecmp(name, count->name) == 0;
	return MHD_YES;
}

bool http_header_is_twice(const struct http_request *request, const char *name)
{
	struct count count = {.name = name};

	(void)MHD_get_connection_values(request->conn->mhd, MHD_HEADER_KIND, count_header, &count);
	return count.found > 1;
}

int64_t http_body_size(const struct http_request *request)
{
	return request->body_size;
}

void http_peer(const struct http_request *request, char *ret_text, size_t size)
{
	const struct in6_addr *peer = &request->conn->peer;
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(peer);

	if (request->conn->is_unix ||
	    inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? &peer->s6_addr[12] : &peer->s6_addr[0],
		      ret_text, (socklen_t)size) == NULL)
		(void)snprintf(ret_text, size, "unix");
}

bool http_is_unix(const struct http_request *request)
{
	return request->conn->is_unix;
}

bool http_peer_uid(const struct http_request *request, uid_t *ret_uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (!request->conn->is_unix ||
	    getsockopt(request->conn->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	*ret_uid = peer.uid;
	return true;
}
