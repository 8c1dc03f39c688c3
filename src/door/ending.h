// SPDX-License-Identifier: Apache-2.0
/*
 * Ending - what a door says about a run that is over
 *
 * Owns:    the members that doors need of a Result, of a command's answer, or of the event with a
 *          run's verdict: what has one name in them is one thing.
 * May not: know a door, or decode: what a sandbox wrote is passed on as the JSON text that it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "door/escaped.h"

/* Borrowed from what was read, as long as that is there; empty, 0 or false where it says nothing.
 */
struct ending {
	enum verdict_kind kind; /* VERDICT_NONE: it has no verdict */
	int exit_code, signal;
	struct span code;               /* the exit code as it stands: a number or null */
	struct escaped message, remedy; /* of the verdict */
	struct escaped out, err, traceback;
	bool is_out_cut, is_err_cut, is_value_cut;
	struct span value;    /* result's application/json, null as well */
	struct escaped saved; /* the saved state, in base64 */
	struct span lost;     /* a list: what was not saved */
	struct span packages; /* a list of names */
	struct span files;    /* a list */
	struct span charts;   /* likewise */
	struct run_usage usage;
};

/* False: it has no verdict. The rest is read all the same. */
bool ending_read(const char *json, size_t size, struct ending *ret_ending);

/* "ok", "exception", ...; "": it has no verdict. */
const char *ending_kind(const struct ending *ending);

bool ending_is(const struct ending *ending, const char *kind);
