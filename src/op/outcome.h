// SPDX-License-Identifier: Apache-2.0
/*
 * Outcome - the result of a run, for who wants two streams, a value and one word on how it ended
 *
 * Owns:    finding these in the JSON of a result, and what to show on stderr of a run that failed.
 * May not: decode: what a sandbox wrote is passed on as the JSON text that it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* JSON text inside of the result; data NULL: there is none (a null, an empty string). */
struct outcome_text {
	const char *data;
	size_t size;
};

struct outcome {
	bool is_ok;
	char kind[16]; /* of the verdict */
	double wall_ms;
	struct outcome_text out, err; /* strings */
	struct outcome_text value;    /* application/json of the trailing expression */
	struct outcome_text saved;    /* a string: the base64 of the saved state */
	struct outcome_text lost;     /* a list: what was not saved */
	struct outcome_text packages; /* a list of names */
	struct outcome_text error;    /* a string: the traceback */
	struct outcome_text message;  /* a string: the verdict's */
};

/* Borrows from `json`, the result as op_run answers it. */
void outcome_read(const char *json, size_t size, struct outcome *ret_outcome);

/* Appends a JSON string: what the code wrote to stderr, and behind it why the run failed. */
int outcome_put_failure(const struct outcome *outcome, struct buf *buf);
