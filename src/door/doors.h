// SPDX-License-Identifier: Apache-2.0
/*
 * Doors - which door a request goes through
 *
 * Owns:    the doors that the config opens, where each is mounted, and the way to the router for
 *          all that is for none of them.
 * May not: know what a door says.
 *
 * Where a door is: `prefix` "/x" puts it there, "/" at the root, before our own routes with the
 * same path. `auto`, the default, puts it at /<name>, and also at the root as far as neither our
 * own routes nor another door's want the same. Two doors that were put at the same place by name
 * are an error. The page's paths are our own, too; a door that only /v1 stands beside has none.
 */
#pragma once

#include "api/access.h"
#include "api/router.h"
#include "base/err.h"
#include "door/door.h"
#include "http/http.h"
#include "page/page.h"

struct doors;

struct doors_settings {
	struct engine *engine; /* borrowed, as all of these */
	const struct access *access;
	struct router *router;
	struct page *page;               /* NULL: there is none */
	const struct door *const *table; /* NULL: door_table */
	const char *main; /* this door is open, and at the root: what is nowhere else is refused in
			     its words; NULL: none is */
	uint64_t body_max;
};

/* For http_new, with the doors as their user. */
extern const struct http_calls doors_calls;

/* Before a daemon that is to stand in for `name`: see boot in door.h. */
int doors_boot(const char *name, struct config *config, struct err *err);

int doors_new(const struct doors_settings *settings, struct doors **ret_doors, struct err *err);

/* After http_close, before router_close. It stays until the last call has ended. Accepts NULL. */
void doors_close(struct doors *doors);

/* What is open and where, one "name prefix" per line. */
int doors_list(const struct doors *doors, struct buf *buf);
