// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

#include <errno.h>
#include <string.h>

#include "base/c.h"

#define USES_ALL ((1U << BACKEND_USE_COUNT) - 1)

/* Named by the design and by Atlas's settings, and not part of this build: a list or a pin that
 * names one gets a plain answer instead of "no such thing". */
static int probe_absent(const struct backend_host *host, struct err *err)
{
	(void)host;
	return err_set(err, ERR_UNSUPPORTED, ENOSYS, "this version of viv does not have it");
}

const struct backend backend_microvm = {
	.name = "microvm",
	.priority = 100,
	.isolation = "a virtual machine of its own",
	.uses = USES_ALL,
	.remedy = "nothing turns it on in this version; namespace is the strongest that it has",
	.probe = probe_absent,
};

const struct backend backend_gvisor = {
	.name = "gvisor",
	.priority = 90,
	.isolation = "a kernel in user space",
	.uses = USES_ALL,
	.remedy = "nothing turns it on in this version; namespace is the strongest that it has",
	.probe = probe_absent,
};

const struct backend *const backend_table[] = {
	&backend_microvm, &backend_gvisor,  &backend_namespace,
	&backend_remote,  &backend_process, NULL,
};

const struct backend *backend_find(const char *name)
{
	for (size_t i = 0; backend_table[i] != NULL; i++) {
		if (strcmp(backend_table[i]->name, name) == 0)
			return backend_table[i];
	}
	return NULL;
}
