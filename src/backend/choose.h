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
 *
 * May not: fall through from a pin that is broken, or say less than why each one was passed over.
 */
#pragma once

#include "backend/backend.h"

/* The backend for `use`. `pin` is a name, or "auto" or NULL; `is_sidecar`: refusals in Atlas's
 * words. ERR_NOT_FOUND: no such name; ERR_FORBIDDEN: the config allows others only;
 * ERR_UNSUPPORTED: it, or all of them, cannot run here, and why. */
int backend_choose(const struct backend_host *host, enum backend_use use, const char *pin,
		   bool is_sidecar, const struct backend **ret_backend, struct err *err);

/* The best that makes sandboxes on this host, for whoever keeps them ready. */
int backend_choose_local(const struct backend_host *host, const struct backend **ret_backend,
			 struct err *err);

/* Would `backend` do for `use` right now? 0, or why not. */
int backend_is_for(const struct backend *backend, const struct backend_host *host,
		   enum backend_use use, struct err *err);

/* Name of what `use` gets right now; "fail-closed" when nothing. */
const char *backend_active(const struct backend_host *host, enum backend_use use);

/* What explore means here: with a folder of this host, or with whatever a remote has. */
enum backend_use backend_explore(const struct config *config);

/* "python", "command", "session", "explore" */
const char *backend_use_name(enum backend_use use);

/* "strength", "atlas-documented", "atlas-planner", or "priority" for a list. */
const char *backend_order_name(const struct config *config);
