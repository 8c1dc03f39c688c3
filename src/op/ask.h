// SPDX-License-Identifier: Apache-2.0
/*
 * Ask - a call of an op that a door makes itself
 *
 * Owns:    the call, its answer or events until the asker has taken them, and the last callback.
 *          The result of a run is passed as a value.
 * May not: know HTTP: the asker turns answers into responses.
 *
 * Every callback comes from the loop, never from inside ask_start, and may start the next ask.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "op/op.h"
#include "session/result.h"

struct ask;

/* Borrowed until `done` returns. */
struct ask_result {
	const struct err *err; /* NULL: success */
	uint32_t retry_after_s;
	unsigned status;   /* as over HTTP: 200, 201, 202, 204 */
	const char *bytes; /* JSON answer, or a whole stream without `event`; NUL-terminated */
	size_t size;
	const char *run;            /* the run it started; "": none */
	const char *session;        /* the session that it answered with; "": none */
	const struct result *value; /* the result of a run; NULL: not wanted, or there is none */
};

struct ask_calls {
	/* Takes one event of a run, a JSON object without its newline. Returning false holds the
	 * rest until ask_go_on. NULL: the asker wants one result instead of events. */
	bool (*event)(void *user, const char *line, size_t size);

	/* Always the last callback. After events it has no bytes, unless wants_result is set. */
	void (*done)(void *user, const struct ask_result *result);
};

struct ask_settings {
	struct engine *engine;   /* borrowed until done, like every pointer here */
	struct op_caller caller; /* its limits, policies and sessions apply */
	const struct op *op;     /* &op_run, &op_session_create ... */
	const void *args;        /* the op's struct, with only values that its rows allow */
	int body;                /* memfd with the body of an is_raw op; else -1 */
	size_t max;              /* bytes of the answer, or of one event; 0: 256 MiB */
	bool wants_result;       /* also pass the result, after the events of a run */
	const struct ask_calls *calls;
	void *user;
};

struct ask *ask_start(const struct ask_settings *settings);

/* Continues after `event` returned false. */
void ask_go_on(struct ask *ask);

/* Cancels a run; other ops go on. Events that are already there and `done` still follow, and
 * `event` can no longer hold them. */
void ask_cancel(struct ask *ask);

/* The asker is going away: no callback follows. A run goes on. */
void ask_forget(struct ask *ask);
