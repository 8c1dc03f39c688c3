// SPDX-License-Identifier: Apache-2.0
/*
 * Choose - which backend does a run
 *
 * Owns:    the rule. Pure: the same host and config give the same answer.
 *
 *          - A pin (of the request, its policy, or the config) is that backend or a refusal.
 *          - backends.priority is exactly those, in that order; when none can run, nothing does.
 *          - Else the order of the preset. `process` is tried only where the config allows it, and
 *            for explore alone.
 *          - What the order may not choose (`by_order` of a row) is chosen only where the config
 *            names it, in backends.pin or backends.priority: no client can ask for less than walls.
 *
 * May not: fall through from a broken pin, or refuse without saying why each backend was passed
 *          over.
 */
#pragma once

#include "backend/backend.h"

/* Chooses the backend for `use`. `pin` is a name, or "auto" or NULL; `is_sidecar`: refusals use the
 * words of the sidecar's system. ERR_NOT_FOUND: no such name; ERR_FORBIDDEN: the config does not
 * allow it; ERR_UNSUPPORTED: it, or every backend, cannot run here, and why. */
int backend_choose(const struct backend_host *host, enum backend_use use, const char *pin,
		   bool is_sidecar, const struct backend **ret_backend, struct err *err);

/* The best that makes sandboxes on this host, for whoever keeps them ready. Never one that the
 * order may not choose. */
int backend_choose_local(const struct backend_host *host, const struct backend **ret_backend,
			 struct err *err);

/* Name of what `use` gets right now; "fail-closed" when nothing. */
const char *backend_active(const struct backend_host *host, enum backend_use use);

/* The use of explore here: a folder of this host, or a folder of the remote. */
enum backend_use backend_explore(const struct config *config);

/* "python", "command", "session", "explore" */
const char *backend_use_name(enum backend_use use);

/* The effective word of backends.order, or "priority" for a list. */
const char *backend_order_name(const struct config *config);
