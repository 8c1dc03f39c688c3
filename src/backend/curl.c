// SPDX-License-Identifier: Apache-2.0
#include "backend/curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"

#define LIBRARY "libcurl.so.4"
#define PIECE_SIZE 262144L

#define ROW(field)                                                                                 \
	{                                                                                          \
		"curl_" #field, offsetof(struct curl, field)                                       \
	}

static const struct {
	const char *name;
	size_t offset;
} rows[] = {
	ROW(global_init),      ROW(easy_init),           ROW(easy_setopt),
	ROW(easy_getinfo),     ROW(easy_strerror),       ROW(easy_cleanup),
	ROW(slist_append),     ROW(slist_free_all),      ROW(multi_init),
	ROW(multi_add_handle), ROW(multi_remove_handle), ROW(multi_perform),
	ROW(multi_info_read),  ROW(multi_poll),          ROW(multi_cleanup),
	ROW(multi_setopt),     ROW(multi_assign),        ROW(multi_socket_action),
};
_Static_assert(ARRAY_LEN(rows) * sizeof(void *) == sizeof(struct curl), "a function has no row");

int curl_load(struct curl *ret_curl, struct err *err)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
	struct curl curl;

	if (library == NULL)
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "talking to another server needs " LIBRARY
			       "; on Debian: apt-get install libcurl4");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		void *function = dlsym(library, rows[i].name);

		if (function == NULL)
			return err_set(err, ERR_UNSUPPORTED, ENOENT, LIBRARY " has no %s",
				       rows[i].name);
		memcpy((char *)&curl + rows[i].offset, &function, sizeof(function));
	}
	if (curl.global_init(CURL_GLOBAL_ALL) != 0)
		return err_set(err, ERR_INTERNAL, EIO, LIBRARY " does not start");
	*ret_curl = curl;
	return 0;
}

#define SET(option, value) (void)request->curl->easy_setopt(request->easy, option, value)

int curl_request_open(struct curl_request *request, const char *url, const char *path,
		      const char *socket, long connect_ms, curl_write_callback came, void *user,
		      struct err *err)
{
	request->easy = request->curl->easy_init();
	if (request->easy == NULL || asprintf(&request->url, "%s%s", url, path) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for a request");
	SET(CURLOPT_URL, request->url);
	SET(CURLOPT_PATH_AS_IS, 1L);
	if (socket != NULL)
		SET(CURLOPT_UNIX_SOCKET_PATH, socket);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOPROXY, "*");
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	SET(CURLOPT_BUFFERSIZE, PIECE_SIZE);
	SET(CURLOPT_WRITEFUNCTION, came);
	SET(CURLOPT_WRITEDATA, user);
	SET(CURLOPT_PRIVATE, user);
	return 0;
}

void curl_request_add(struct curl_request *request, const char *format, ...)
{
	AUTO_FREE char *line = NULL;
	struct curl_slist *headers = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		abort();
	va_end(args);
	headers = request->curl->slist_append(request->headers, line);
	if (headers == NULL)
		abort();
	request->headers = headers;
}

int curl_request_begin(struct curl_request *request, struct err *err)
{
	SET(CURLOPT_HTTPHEADER, request->headers);
	if (request->curl->multi_add_handle(request->multi, request->easy) != CURLM_OK)
		return err_set(err, ERR_INTERNAL, EIO, "cannot begin a request");
	return 0;
}

long curl_request_status(const struct curl_request *request)
{
	long status = 0;

	(void)request->curl->easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

void curl_request_done(struct curl_request *request)
{
	if (request->easy != NULL) {
		(void)request->curl->multi_remove_handle(request->multi, request->easy);
		request->curl->easy_cleanup(request->easy);
	}
	if (request->headers != NULL)
		request->curl->slist_free_all(request->headers);
	free(request->url);
	*request = (struct curl_request){0};
}

void *curl_next_done(const struct curl *curl, CURLM *multi, CURLcode *ret_code)
{
	CURLMsg *message = NULL;
	void *user = NULL;
	int left = 0;

	while ((message = curl->multi_info_read(multi, &left)) != NULL) {
		if (message->msg != CURLMSG_DONE)
			continue;
		*ret_code = message->data.result;
		(void)curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
		return user;
	}
	return NULL;
}

int curl_take_lines(struct buf *rest, const char *bytes, size_t size,
		    int (*take)(void *user, const char *line, size_t size), void *user)
{
	int r = 0;

	while (r == 0 && size > 0) {
		const char *end = memchr(bytes, '\n', size);
		size_t piece = end != NULL ? (size_t)(end - bytes) : size;

		if (end == NULL || rest->size > 0)
			r = buf_append(rest, bytes, piece);
		if (r == 0 && end != NULL) {
			bool is_here = rest->size == 0;

			r = take(user, is_here ? bytes : (const char *)rest->data,
				 is_here ? piece : rest->size);
			buf_cut(rest, 0);
		}
		bytes += piece + (end != NULL ? 1 : 0);
		size -= piece + (end != NULL ? 1 : 0);
	}
	return r;
}
