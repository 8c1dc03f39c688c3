// SPDX-License-Identifier: Apache-2.0
/*
 * Piston - version 2 of Piston's API: GET /api/v2/runtimes and POST /api/v2/execute
 *
 * Owns:    what its two files share. Errors are {"message"}, a run's end is a code or a signal.
 * May not: be included by anybody else.
 */
#pragma once

#include "api/exchange.h"
#include "door/piston/range.h"

#define PISTON_LANGUAGE "python"

extern const char *const piston_aliases[]; /* names of the language, NULL-terminated */

/* Kept while the daemon lives: the version of Python, once a sandbox has reported it. */
struct piston {
	char version[16];
	struct version parts;
};

void piston_say(struct exchange *call, unsigned status, const char *text);

/* Fills the run from the body of /execute; its pointers are borrowed from the call. On failure the
 * call is answered. */
int piston_take(struct exchange *call, const json_t *body, struct run_request *args);
