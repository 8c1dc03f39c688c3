// SPDX-License-Identifier: Apache-2.0
/*
 * Verdict - the typed, truthful end of a run
 *
 * Owns:    the rule by which facts and testimony become one verdict, and the sentences that go with
 *          it. A pure function: the same facts give the same verdict.
 * May not: let testimony outweigh a fact. What the runner says counts only where no fact
 *          contradicts it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/box.h"
#include "base/buf.h"
#include "base/err.h"
#include "session/fields.h"
#include "session/remedy.h"

enum verdict_kind {
	VERDICT_NONE, /* not over yet */
	VERDICT_OK,
	VERDICT_EXCEPTION,
	VERDICT_EXIT,
	VERDICT_TIMEOUT,
	VERDICT_MEMORY,
	VERDICT_KILLED,
	VERDICT_OUTPUT,
	VERDICT_DISK,
	VERDICT_GUARD,
	VERDICT_DENIED,
	VERDICT_INTERRUPTED,
	VERDICT_CANCELLED,
	VERDICT_BACKEND,
};

#define VERDICT_TEXT_MAX 1000

/* The maker of the verdict. */
enum verdict_by {
	VERDICT_BY_SUPERVISOR,
	VERDICT_BY_RUNNER,
	VERDICT_BY_REMOTE, /* all of it is what another machine claims */
};

/* Facts that the supervisor has seen from outside the sandbox. */
struct verdict_facts {
	bool has_exit; /* `exit` is set: the box has reported the end of the interpreter */
	struct box_exit exit;
	bool is_timed_out;       /* our own timer, a fallback for the box's */
	bool is_output_exceeded; /* a stream or the events went past 16x their limit */
	bool is_cancelled;
	bool is_session;     /* in a session: an interpreter that ends by itself loses the state */
	bool is_interrupted; /* a person asked (Ctrl-C) */
	bool is_offline;     /* the net wall is up: the code has no network */
	bool is_denied;      /* refused before any code ran; `why` says why */
	bool is_undecided; /* with is_denied: time ran out or the daemon ended, nobody refused it */
	bool is_protocol_broken; /* it sent an invalid frame and was ended; `why` says which */
	struct err why;          /* for these two, or why we failed */
	char denial[VERDICT_TEXT_MAX]; /* for is_denied, instead of `why`: the person's message */

	uint64_t memory_max; /* limits, for message and remedy */
	uint64_t output_max;
	uint32_t timeout_ms;
	uint32_t timeout_max_ms;
};

/* The runner's DONE, already checked to be well-formed. */
struct verdict_testimony {
	bool is_given;
	enum verdict_kind kind; /* one of ok, exception, exit, interrupted, disk, guard */
	int exit_code;
	char message[VERDICT_TEXT_MAX];
	char remedy[VERDICT_TEXT_MAX]; /* "key" or "key:detail" (remedy.h) */
	char error_type[128];          /* from the error event, if there was one */
	char error_message[256];
};

struct verdict {
	enum verdict_kind kind;
	int exit_code;
	int signal; /* 0: none */
	char message[VERDICT_TEXT_MAX];
	char remedy[VERDICT_TEXT_MAX];          /* in the words for HTTP */
	const char *remedy_key;                 /* static, from remedy.h's table; NULL: none */
	char remedy_detail[REMEDY_DETAIL_SIZE]; /* for the words at other places */
	/* Static: "memory", "timeout_ms", "output", "disk", "locks"; NULL: none. */
	const char *limit;
	uint64_t limit_value;
	uint64_t peak; /* 0: not known */
	enum verdict_by by;
};

/* The verdict's members in JSON. */
extern const struct field verdict_fields[];

struct verdict verdict_of(const struct verdict_facts *facts,
			  const struct verdict_testimony *testimony);

/* Sets the remedy; a key that is not in the table sets none. */
void verdict_set_remedy(struct verdict *verdict, const char *key, const char *detail);

/* Writes the remedy in the words for this place. */
void verdict_remedy(const struct verdict *verdict, enum remedy_place place, char *text,
		    size_t room);

/* Do these facts alone decide how a run ended: cancelled, timed out, too much output, refused? */
bool verdict_is_fact(const struct verdict_facts *facts);

/* Reads the verdict object of a result or event that another process wrote, valid JSON.
 * VERDICT_NONE: it has no verdict. */
struct verdict verdict_read(const char *object, size_t size);

/* "ok", "exception", ... */
const char *verdict_name(enum verdict_kind kind);

/* The kind with this name, if a runner may claim it; else VERDICT_NONE. */
enum verdict_kind verdict_claimed(const char *name, size_t size);

/* The exit status of `viv run` for this verdict. */
int verdict_exit_status(const struct verdict *verdict);
