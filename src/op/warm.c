// SPDX-License-Identifier: Apache-2.0
#include "op/warm.h"

#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/log.h"

static void drop(struct engine *engine, struct engine_warm *warm)
{
	struct err err = {0};

	if (engine->pool != NULL && warm->kind.runtime != NULL)
		(void)pool_keep(engine->pool, &warm->kind, 0, &err);
	free(warm->trust);
	free(warm->data);
	*warm = (struct engine_warm){0};
}

static bool is_kind(const struct engine_warm *warm, const struct box_kind *kind)
{
	const char *data = kind->data != NULL ? kind->data : "";

	return warm->kind.backend == kind->backend && warm->kind.runtime == kind->runtime &&
	       memcmp(&warm->kind.plan, &kind->plan, sizeof(kind->plan)) == 0 &&
	       strcmp(warm->trust, kind->trust) == 0 && strcmp(warm->data, data) == 0;
}

static void take(struct engine *engine, struct engine_warm *warm, const struct box_kind *kind)
{
	struct err err = {0};

	drop(engine, warm);
	warm->trust = xstrdup(kind->trust);
	warm->data = xtext(kind->data);
	warm->kind = *kind;
	warm->kind.trust = warm->trust;
	warm->kind.data = kind->data != NULL ? warm->data : NULL;
	if (pool_keep(engine->pool, &warm->kind, (uint32_t)kind->runtime->pool, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "pool.keep", "runtime=%s why=%s", kind->runtime->name,
			  err.text);
}

void warm_use(struct engine *engine, const struct box_kind *kind)
{
	struct engine_warm *oldest = &engine->warm[0];

	if (kind->runtime->pool == 0 || kind->is_cold)
		return;
	for (size_t i = 0; i < ENGINE_WARM_MAX; i++) {
		struct engine_warm *warm = &engine->warm[i];

		if (warm->kind.runtime != NULL && is_kind(warm, kind)) {
			warm->used_ns = now_ns();
			return;
		}
		if (warm->used_ns < oldest->used_ns)
			oldest = warm;
	}
	take(engine, oldest, kind);
	oldest->used_ns = now_ns();
}

void warm_forget(struct engine *engine)
{
	struct pool *pool = STEAL(engine->pool);

	for (size_t i = 0; i < ENGINE_WARM_MAX; i++)
		drop(engine, &engine->warm[i]);
	engine->pool = pool;
}
