// SPDX-License-Identifier: Apache-2.0
/*
 * Ending - what a door says about a run that is over
 *
 * Owns:    the members that doors need of a result.
 * May not: know a door, or decode: what a sandbox wrote is passed on as the JSON text that it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "door/escaped.h"

/* Borrowed from the result and valid as long as it is; members that it lacks are empty, 0 or
 * false. */
struct ending {
	enum verdict_kind kind; /* VERDICT_NONE: no verdict */
	int exit_code, signal;
	struct span code;       /* the exit code as JSON: a number or null */
	struct escaped message; /* of the verdict */
	struct escaped out, err, traceback;
	bool is_out_cut, is_err_cut, is_value_cut;
	struct span value;    /* the result's application/json; may be null */
	struct escaped saved; /* the saved state, in base64 */
	struct span lost;     /* a list: what was not saved */
	struct span packages; /* a list of names */
	struct span files;    /* a list */
	struct span charts;   /* likewise */
	struct run_usage usage;
};

/* False: the result has no verdict. The other members are set all the same. */
bool ending_read(const struct result *result, struct ending *ret_ending);

/* "ok", "exception", ...; "": no verdict. */
const char *ending_kind(const struct ending *ending);

bool ending_is(const struct ending *ending, const char *kind);
