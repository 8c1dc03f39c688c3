// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

#include <errno.h>
#include <string.h>

#include "base/c.h"

#define USES_ALL ((1U << BACKEND_USE_COUNT) - 1)

/* For backends that the design or a dialect's settings name but this build does not have: a list or
 * pin that names one gets a plain answer instead of "no such thing". */
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
	.by_order = USES_ALL,
	.remedy = "this version cannot provide it; namespace is the strongest available",
	.probe = probe_absent,
};

const struct backend backend_gvisor = {
	.name = "gvisor",
	.priority = 90,
	.isolation = "a kernel in user space",
	.uses = USES_ALL,
	.by_order = USES_ALL,
	.remedy = "this version cannot provide it; namespace is the strongest available",
	.probe = probe_absent,
};

#define ROW(name) &backend_##name,
const struct backend *const backend_table[] = {BACKEND_NAMES(ROW) NULL};

const struct backend *backend_find(const char *name)
{
	for (size_t i = 0; backend_table[i] != NULL; i++) {
		if (strcmp(backend_table[i]->name, name) == 0)
			return backend_table[i];
	}
	return NULL;
}

const struct backend *const *backend_all(const struct backend_host *host)
{
	return host->table != NULL ? host->table : backend_table;
}

const char *backend_lack(const struct backend *backend, size_t at)
{
	const struct box_impl *box = backend->box;
	const struct {
		bool is_there;
		const char *word;
	} rows[] = {
		{box != NULL && box->fork_head != NULL && box->drop_head != NULL, "checkpoints"},
		{box != NULL && box->save != NULL && box->restore != NULL, "files of checkpoints"},
		{box != NULL && box->freeze != NULL, "freezing"},
		{box != NULL && box->keep != NULL, "life beyond the daemon"},
		{box != NULL && box->sweep != NULL, "an end of what runs leave behind"},
	};

	for (size_t i = 0; box != NULL && i < ARRAY_LEN(rows); i++) {
		if (!rows[i].is_there && at-- == 0)
			return rows[i].word;
	}
	return NULL;
}

static const struct backend_seen *find_seen(const struct backend *backend,
					    const struct backend_host *host)
{
	for (size_t i = 0; i < host->seen_count; i++) {
		if (host->seen[i].backend == backend)
			return &host->seen[i];
	}
	return NULL;
}

int backend_probe(const struct backend *backend, const struct backend_host *host, struct err *err)
{
	const struct backend_seen *seen = find_seen(backend, host);
	const struct err *why = NULL;

	if (seen != NULL && seen->why != NULL)
		why = seen->why;
	else if (backend->open != NULL && host->why != NULL)
		why = host->why;
	else if (seen != NULL && seen->facts != NULL && seen->facts->unfit.kind != ERR_NONE)
		why = &seen->facts->unfit;
	if (why != NULL)
		return err_set(err, ERR_UNSUPPORTED, why->num > 0 ? why->num : ENOTCONN, "%s",
			       why->text);
	return backend->probe != NULL ? backend->probe(host, err) : 0;
}
