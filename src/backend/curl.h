// SPDX-License-Identifier: Apache-2.0
/*
 * Curl - libcurl, loaded when somebody first talks to a daemon or a sidecar
 *
 * Owns:    the table of its functions that we call.
 * May not: be linked: libcurl brings some thirty libraries, and mapping them costs every start of
 *          viv more than a whole run in a warm sandbox takes.
 */
#pragma once

#include <curl/curl.h>

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

/* Loads it, and finds every function; ERR_UNSUPPORTED names the package that is missing. It stays
 * loaded until the program ends. */
int curl_load(struct curl *ret_curl, struct err *err);
