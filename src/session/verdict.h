// SPDX-License-Identifier: Apache-2.0
/*
 * Verdict - the typed, truthful end of a run
 *
 * Owns:    the rule by which facts and testimony become one verdict, and the sentences that go with
 *          it. A pure function: the same facts give the same verdict.
 * May not: let testimony outweigh a fact. What the runner says counts only where no fact
 * contradicts.
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

/* Who says so. */
enum verdict_by {
	VERDICT_BY_SUPERVISOR,
	VERDICT_BY_RUNNER,
	VERDICT_BY_REMOTE, /* all of it is another machine's word */
};

/* What the supervisor knows. Everything here was seen from outside the sandbox. */
struct verdict_facts {
	bool has_exit; /* `exit` is set: launch reported the end of the interpreter */
	struct box_exit exit;
	bool is_timed_out;       /* our own timer, the second line behind launch's */
	bool is_output_exceeded; /* a stream or the events went past 16x their limit */
	bool is_cancelled;
	bool is_session;         /* an interpreter that ends by itself takes the state with it */
	bool is_interrupted;     /* a person asked (Ctrl-C) */
	bool is_offline;         /* the net wall stands: the code reaches nothing */
	bool is_denied;          /* refused before anything ran; `why` says by what */
	bool is_protocol_broken; /* it sent what no runner sends, and was ended; `why` says what */
	struct err why;          /* of these two, or how we failed */
	char denial[VERDICT_TEXT_MAX]; /* of is_denied, in place of `why`: what a person said */

	uint64_t memory_max; /* limits, for message and remedy */
	uint64_t output_max;
	uint32_t timeout_ms;
	uint32_t timeout_max_ms;
};

/* What the runner said in DONE, already checked to be well-formed. */
struct verdict_testimony {
	bool is_given;
	enum verdict_kind kind; /* one of ok, exception, exit, interrupted, disk, guard */
	int exit_code;
	char message[VERDICT_TEXT_MAX];
	char remedy[VERDICT_TEXT_MAX]; /* "key" or "key:detail" (remedy.h) */
	char error_type[128];          /* of the error event, when there was one */
	char error_message[256];
};

struct verdict {
	enum verdict_kind kind;
	int exit_code;
	int signal; /* 0: none */
	char message[VERDICT_TEXT_MAX];
	char remedy[VERDICT_TEXT_MAX];          /* as it is said over HTTP */
	const char *remedy_key;                 /* static: of remedy.h's table; NULL: none */
	char remedy_detail[REMEDY_DETAIL_SIZE]; /* for its words at other places */
	const char *limit; /* static: "memory", "timeout_ms", "output", "disk"; NULL: none */
	uint64_t limit_value;
	uint64_t peak; /* 0: not known */
	enum verdict_by by;
};

/* Its members in JSON. */
extern const struct field verdict_fields[];

struct verdict verdict_of(const struct verdict_facts *facts,
			  const struct verdict_testimony *testimony);

/* What to do about it; a key that the table does not have is nothing. */
void verdict_set_remedy(struct verdict *verdict, const char *key, const char *detail);

/* The same in the words of another place. */
void verdict_remedy(const struct verdict *verdict, enum remedy_place place, char *text,
		    size_t room);

/* Do these say by themselves how a run ended: cancelled, late, too loud, refused? */
bool verdict_is_fact(const struct verdict_facts *facts);

/* The verdict object of a result or event that another process wrote, checked JSON. VERDICT_NONE:
 * it says no verdict. */
struct verdict verdict_read(const char *object, size_t size);

/* "ok", "exception", ... */
const char *verdict_name(enum verdict_kind kind);

/* The kind of that name among those a runner may claim; VERDICT_NONE for any other. */
enum verdict_kind verdict_claimed(const char *name, size_t size);

/* The exit status of `viv run` for this verdict. */
int verdict_exit_status(const struct verdict *verdict);
