// SPDX-License-Identifier: Apache-2.0
#include "backend/curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/c.h"

#define LIBRARY "libcurl.so.4"

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
