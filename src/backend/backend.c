// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

#include <errno.h>
#include <string.h>

#include "base/c.h"

const struct backend *const backend_table[] = {
	&backend_namespace,
	NULL,
};

int backend_choose(const char *name, const struct launch_hello *hello,
		   const struct backend **ret_backend, struct err *err)
{
	bool is_pinned = name != NULL && strcmp(name, "auto") != 0;
	int r = -ENOENT;

	for (size_t i = 0; backend_table[i] != NULL; i++) {
		const struct backend *backend = backend_table[i];

		if (is_pinned && strcmp(backend->name, name) != 0)
			continue;

		r = backend->probe(hello, err);
		if (r == 0) {
			*ret_backend = backend;
			return 0;
		}
		if (is_pinned)
			return err_wrap(err, "backend %s", name);
	}
	if (is_pinned)
		return err_set(err, ERR_NOT_FOUND, ENOENT,
			       "no backend '%s'; `viv doctor` lists them", name);
	return err_wrap(err, "no backend can run here; see `viv doctor`");
}
