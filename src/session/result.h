// SPDX-License-Identifier: Apache-2.0
/*
 * Result - what a run came to (contracts: native, 2.2): one table of its members
 *
 * Owns:    their names, types and order, what stands for one that there is nothing of, and the
 *          events that tell them. The JSON of a result, the fold of a log, the description of
 *          results and events (OpenAPI), and the reader of results all follow from the table.
 * May not: know where they come from: a run that is here, the lines of its log, another machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/fields.h"
#include "session/verdict.h"

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

/* How an event's member becomes one of the result. */
enum result_how {
	RESULT_VALUE, /* the last one counts */
	RESULT_ITEM,  /* of a list */
	RESULT_TEXT,  /* strings, one behind the other */
};

struct result_row {
	const char *name;
	const char *type;  /* in the notation of api/schemas.c */
	const char *empty; /* what is written when there is nothing; NULL: it is left out */
	const char *event; /* the type of the events that tell it; NULL: none does */
	const char *from;  /* the member there; NULL: the same name */
	enum result_how how;
	bool is_listed; /* whole in the verdict's event, too */
};

extern const struct result_row result_rows[RESULT_COUNT];

/* The name of the event's member that becomes this one. */
const char *result_from(enum result_member member);

/* ---- parts of it that are structs ---- */

struct run_usage {
	double queue_ms; /* from request to a sandbox */
	double wall_ms;  /* from sandbox to verdict */
	double cpu_ms;
	uint64_t peak_memory;
	uint64_t output_bytes; /* written by the code, kept or not */
};

/* What there is more of than was kept. */
struct run_truncated {
	bool out, err, files, result, events;
};

extern const struct field usage_fields[], truncated_fields[];

/* By what memory is limited, by enum box_limits; NULL behind the last. */
extern const char *const limits_names[];

/* ---- writing, describing, reading ---- */

/* Appends the object. `put` appends the JSON text of one member, or nothing when there is none;
 * it returns 0 or a negative errno. */
int result_put(struct buf *buf,
	       int (*put)(const void *user, enum result_member member, struct buf *buf),
	       const void *user, struct err *err);

/* Appends the members of a result, or of an event, in the notation of api/schemas.c. */
int result_describe(struct buf *buf);
int result_describe_event(struct buf *buf);

/* A JSON value as text, borrowed. */
struct span {
	const char *at;
	size_t size; /* 0: there is none */
};

/* A result, or the event with a run's verdict, that another process wrote. */
struct result {
	struct span members[RESULT_COUNT];
	struct verdict verdict; /* VERDICT_NONE: none yet */
	struct run_usage usage;
	struct run_truncated truncated;
};

/* Reads valid JSON, which is to stay as long as the result is used. */
void result_read(const char *json, size_t size, struct result *ret_result);
