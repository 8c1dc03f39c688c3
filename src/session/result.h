// SPDX-License-Identifier: Apache-2.0
/*
 * Result - the result of a run (contracts: native, 2.2): one table of its members
 *
 * Owns:    their names, types and order, how a missing value is written, and the events that carry
 *          them. The JSON of a result, the fold of a log, the description of results and events
 *          (OpenAPI), and the reader of results all follow from the table.
 * May not: know where the values come from: a run in this process, the lines of its log, another
 *          machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
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
	RESULT_LEFT_OUT,
	RESULT_SAVED,
	RESULT_CHECKPOINT,
	RESULT_USAGE,
	RESULT_ALLOWED,
	RESULT_BACKEND,
	RESULT_RUNTIME,
	RESULT_WALLS,
	RESULT_WALLS_BY,
	RESULT_LIMITS,
	RESULT_COUNT,
};

/* How a member of an event becomes a member of the result. */
enum result_how {
	RESULT_VALUE, /* the last event counts */
	RESULT_ITEM,  /* an item of a list */
	RESULT_TEXT,  /* strings, concatenated */
};

struct result_row {
	const char *name;
	const char *type;  /* in the notation of api/schemas.c */
	const char *empty; /* what is written for no value; NULL: the member is left out */
	const char *event; /* the type of the events that carry it; NULL: none */
	const char *from;  /* the event's member; NULL: the same name */
	enum result_how how;
	bool is_listed; /* also in the event `verdict`, complete */
	bool is_fact;   /* the runner reports it */
};

extern const struct result_row result_rows[RESULT_COUNT];

/* The name of the event's member that becomes this one. */
const char *result_from(enum result_member member);

/* ---- members that are structs ---- */

struct run_usage {
	double queue_ms; /* from request to a sandbox */
	double wall_ms;  /* from sandbox to verdict */
	double cpu_ms;
	uint64_t peak_memory;
	uint64_t output_bytes; /* written by the code, kept or not */
};

/* The limits under which the run ran, even if its policy has changed since. 0: not known. */
struct run_allowed {
	uint64_t timeout_ms, memory, output;
	double cpus;
};

/* Which parts are incomplete. */
struct run_truncated {
	bool out, err, files, result, events;
};

extern const struct field usage_fields[], allowed_fields[], truncated_fields[];

/* How memory is limited, by enum box_limits; NULL-terminated. */
extern const char *const limits_names[];
extern const char *const run_left_names[]; /* by enum run_left */

/* ---- writing, describing, reading ---- */

/* Appends the members of a result, or of an event, in the notation of api/schemas.c. */
int result_describe(struct buf *buf);
int result_describe_event(struct buf *buf);

/* The text of a JSON string, cut to `room`; "" for any other value. */
void span_text(struct span value, char *text, size_t room);

/* A result, or the part of it that the event `verdict` carries. The members are borrowed from the
 * text that the result was read from or written to. */
struct result {
	struct span members[RESULT_COUNT];
	struct verdict verdict; /* VERDICT_NONE: none yet */
	struct run_usage usage;
	struct run_allowed allowed;
	struct run_truncated truncated;
};

/* Reads valid JSON of another process. The text must stay valid as long as the result is used. */
void result_read(const char *json, size_t size, struct result *ret_result);

/* A line of a run's log, and the members of the result that it carries; for a list or a text, the
 * member's value is one item or one piece. Borrowed from the line. */
struct event {
	char type[32]; /* "": none */
	struct span seq, run, base64;
	struct result told;
};

/* Reads valid JSON. */
void event_read(const char *line, size_t size, struct event *ret_event);
bool event_is(const struct event *event, const char *type);

#define CUT_TEXT_MAX 256

/* Describes the i-th part that was cut: which part, at which limit, and what to do. False: there is
 * none. */
bool truncated_say(const struct run_truncated *truncated, const struct run_allowed *allowed,
		   const struct run_usage *usage, size_t i, char *text, size_t room);

/* Says why a run left no checkpoint, from the member `checkpoint` of its result. False: it left
 * one, or its session has none at all; `text` is then "". */
#define SKIPPED_TEXT_MAX 384
bool skipped_say(struct span checkpoint, char *text, size_t room);

/* Fills in verdict, usage, allowed and truncated from the members. */
void result_fill(struct result *result);
