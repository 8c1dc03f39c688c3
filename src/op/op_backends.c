// SPDX-License-Identifier: Apache-2.0
#include "op/op_backends.h"

#include <errno.h>
#include <string.h>

#include "backend/remote.h"
#include "base/c.h"

struct backend_host op_host(const struct engine *engine)
{
	static const struct err restarting = {.kind = ERR_BUSY, .num = EAGAIN, .text = POOL_AWAY};

	if (engine->pool != NULL)
		return pool_host(engine->pool);
	return (struct backend_host){
		.config = engine->config,
		.why = &restarting,
		.remote = engine->remote,
	};
}

static void put_backend(struct object *object, const struct backend *backend,
			const struct backend_host *host)
{
	struct err why = {0};
	int r = backend_probe(backend, host, &why);

	object_open(object, NULL, '{');
	object_text(object, "name", backend->name);
	object_number(object, "priority", backend->priority);
	object_text(object, "isolation", backend->isolation);
	object_bool(object, "available", r == 0);
	object_text(object, "why", r == 0 ? NULL : why.text);
	object_text(object, "remedy", r == 0 ? NULL : backend->remedy);
	if (backend == &backend_remote && host->remote != NULL)
		object_text(object, "kind",
			    remote_kind(host->remote)[0] != '\0' ? remote_kind(host->remote)
								 : NULL);
	object_open(object, "lacks", '[');
	for (size_t i = 0; backend_lack(backend, i) != NULL; i++)
		object_text(object, NULL, backend_lack(backend, i));
	object_close(object, ']');
	object_open(object, "for", '[');
	for (enum backend_use use = 0; use < BACKEND_EXPLORE_AWAY; use++) {
		bool is_away = use == BACKEND_EXPLORE && backend->uses & 1U << BACKEND_EXPLORE_AWAY;

		if (backend->uses & 1U << use || is_away)
			object_text(object, NULL, backend_use_name(use));
	}
	object_close(object, ']');
	object_close(object, '}');
}

void op_put_backends(struct object *object, const struct backend_host *host)
{
	const struct config *config = host->config;
	const enum backend_use uses[] = {BACKEND_PYTHON, BACKEND_COMMAND, BACKEND_SESSION,
					 backend_explore(config)};
	bool is_pinned = config != NULL && strcmp(config->backend_pin, "auto") != 0;

	object_text(object, "backend", backend_active(host, BACKEND_PYTHON));
	object_open(object, "active", '{');
	for (size_t i = 0; i < ARRAY_LEN(uses); i++)
		object_text(object, backend_use_name(uses[i]), backend_active(host, uses[i]));
	object_close(object, '}');
	object_text(object, "order", backend_order_name(config));
	object_text(object, "pin", is_pinned ? config->backend_pin : NULL);
	object_open(object, "backends", '[');
	for (const struct backend *const *all = backend_all(host); *all != NULL; all++)
		put_backend(object, *all, host);
	object_close(object, ']');
}
