// SPDX-License-Identifier: Apache-2.0
/*
 * Ask - an op, called by a door for itself
 *
 * Owns:    the call, its answer or its events until whoever asked has taken them, and the end.
 * May not: know HTTP: `viv mcp` asks in the same way over stdio.
 *
 * Every callback comes from the loop, never from inside ask_start, and may start the next ask.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "op/op.h"

struct ask;

/* Borrowed until `done` returns. */
struct ask_result {
	const struct err *err; /* NULL: it went well */
	uint32_t retry_after_s;
	unsigned status;   /* as over HTTP: 200, 201, 202, 204 */
	const char *bytes; /* the JSON answer; of a stream without `event` all of it. NUL behind */
	size_t size;
	const char *run; /* the run it started; "": none */
};

struct ask_calls {
	/* One event of a run, a JSON object without its newline. False: no more until ask_go_on.
	 * NULL: one result is wanted. */
	bool (*event)(void *user, const char *line, size_t size);

	/* The last call, always. After events the result has no bytes. */
	void (*done)(void *user, const struct ask_result *result);
};

struct ask_settings {
	struct engine *engine;   /* borrowed until done, as all of these */
	struct op_caller caller; /* who asks: limits, policies and sessions are theirs */
	const struct op *op;     /* &op_run, &op_session_create ... */
	const void *args;        /* its struct; must be what its rows would let through */
	int body;                /* memfd with the body of an is_raw op; else -1 */
	size_t max;              /* bytes of the answer, or of one event; 0: 256 MiB */
	const struct ask_calls *calls;
	void *user;
};

struct ask *ask_start(const struct ask_settings *settings);

/* After `event` said false. */
void ask_go_on(struct ask *ask);

/* Nobody wants it any more: a run is cancelled, other ops go on. `done` still comes, and before it
 * what events there are: they can no longer be held. */
void ask_cancel(struct ask *ask);

/* Who asked goes: no callback comes any more. A run goes on. */
void ask_forget(struct ask *ask);
