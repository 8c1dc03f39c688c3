// SPDX-License-Identifier: Apache-2.0
/*
 * Result - the members of a run's result (contracts: native, 2.2), in their order
 *
 * Owns:    their names, their order, and what stands for one that there is nothing of.
 * May not: know where they come from: a run that is here, or the lines of its log.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

enum result_member {
	RESULT_ID,
	RESULT_SESSION,
	RESULT_WHO,
	RESULT_VERDICT,
	RESULT_STATE,
	RESULT_STDOUT,
	RESULT_STDERR,
	RESULT_TRUNCATED,
	RESULT_RESULT,
	RESULT_ERROR,
	RESULT_DISPLAYS,
	RESULT_CHARTS,
	RESULT_TABLE,
	RESULT_FILES,
	RESULT_MISSING,
	RESULT_SAVED,
	RESULT_CHECKPOINT,
	RESULT_USAGE,
	RESULT_BACKEND,
	RESULT_RUNTIME,
	RESULT_WALLS,
	RESULT_WALLS_BY,
	RESULT_LIMITS,
	RESULT_COUNT,
};

/* Appends the object. `put` appends the JSON text of one member, or nothing when there is none;
 * it returns 0 or a negative errno. */
int result_put(struct buf *buf,
	       int (*put)(const void *user, enum result_member member, struct buf *buf),
	       const void *user, struct err *err);

/* Its name in the result, and in the event that carries it. */
const char *result_name(enum result_member member);

/* What is written when there is nothing of it; NULL: then it is left out. */
const char *result_empty(enum result_member member);

/* The numbers of a run that is not over: what the machine will know is 0. */
int result_put_usage(struct buf *buf, double queue_ms, double wall_ms, double cpu_ms,
		     unsigned long long peak_memory, unsigned long long output_bytes);
