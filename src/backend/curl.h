// SPDX-License-Identifier: Apache-2.0
/*
 * Curl - libcurl, loaded on the first request to a daemon or a sidecar
 *
 * Owns:    the table of its functions that we call, and what all our requests have in common.
 * May not: be linked: libcurl brings some thirty libraries, and mapping them costs every start of
 *          viv more than a whole run in a warm sandbox takes.
 */
#pragma once

#include <curl/curl.h>

#include "base/buf.h"
#include "base/err.h"

struct curl {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *easy_init;
	/* curl.h checks the arguments of these by macros of the same name, not through a pointer.
	 */
	CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
	__typeof__(curl_easy_strerror) *easy_strerror;
	__typeof__(curl_easy_cleanup) *easy_cleanup;
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
	__typeof__(curl_multi_init) *multi_init;
	__typeof__(curl_multi_add_handle) *multi_add_handle;
	__typeof__(curl_multi_remove_handle) *multi_remove_handle;
	__typeof__(curl_multi_perform) *multi_perform;
	__typeof__(curl_multi_info_read) *multi_info_read;
	__typeof__(curl_multi_poll) *multi_poll;
	CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
	__typeof__(curl_multi_assign) *multi_assign;
	__typeof__(curl_multi_socket_action) *multi_socket_action;
	__typeof__(curl_multi_cleanup) *multi_cleanup;
};

/* Loads libcurl and looks up every function; ERR_UNSUPPORTED names the missing package. It stays
 * loaded until the program ends. */
int curl_load(struct curl *ret_curl, struct err *err);

/* One request, with the options common to all. Zero it first. */
struct curl_request {
	const struct curl *curl;    /* borrowed */
	CURLM *multi;               /* borrowed */
	CURL *easy;                 /* owned */
	struct curl_slist *headers; /* owned */
	char *url;                  /* owned */
};

/* A GET request to `url` + `path`, over the unix socket `socket` (NULL: none). It goes straight to
 * the server: no proxy, no redirect, no .netrc. `came` gets the answer's bytes and `user`;
 * curl_request_user finds `user` by the handle. */
int curl_request_open(struct curl_request *request, const char *url, const char *path,
		      const char *socket, long connect_ms, curl_write_callback came, void *user,
		      struct err *err);

/* Adds a header line; with nothing after the colon, curl omits that header. */
void curl_request_add(struct curl_request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

int curl_request_begin(struct curl_request *request, struct err *err);
long curl_request_status(const struct curl_request *request); /* 0: no answer yet */
void curl_request_done(struct curl_request *request);

/* The user of the next finished request, and how it ended; NULL: no more have finished. */
void *curl_next_done(const struct curl *curl, CURLM *multi, CURLcode *ret_code);

/* Calls `take` for each complete line; an incomplete last line waits in `rest`. A negative errno
 * from `take` ends it. */
int curl_take_lines(struct buf *rest, const char *bytes, size_t size,
		    int (*take)(void *user, const char *line, size_t size), void *user);
