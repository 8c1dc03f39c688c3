// SPDX-License-Identifier: Apache-2.0
/*
 * Op backends - which backends there are, which one is used, and how to get the others
 *
 * Owns:    how status and health report them.
 * May not: name the address of a remote: anybody may read health.
 */
#pragma once

#include "backend/choose.h"
#include "op/object.h"
#include "session/engine.h"

/* The facts from which this daemon chooses a backend. */
struct backend_host op_host(const struct engine *engine);

/* "backend": the active one for Python, or "fail-closed"; "active": for each use; "order": how they
 * are tried; "backends": each with priority, isolation, available, why and remedy. */
void op_put_backends(struct object *object, const struct backend_host *host);
