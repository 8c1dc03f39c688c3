// SPDX-License-Identifier: Apache-2.0
/*
 * Script - a run as a process: two streams, an exit code, a signal
 *
 * Owns:    what a run's events say, collected: texts stay escaped, as in JSON.
 * May not: know which door uses it.
 *
 * The traceback goes to stderr, where an interpreter would have written it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct script {
	struct buf out, err, both; /* the inside of JSON strings; `both`: in the order of writing */
	struct buf message;        /* likewise: the verdict's message, and its remedy */
	struct buf files;          /* JSON: the verdict's list; empty: none */
	char kind[16];             /* of the verdict; "": none yet */
	int64_t exit_code;
	int64_t signal; /* 0: none */
	uint64_t wall_ms, cpu_ms, memory;
	bool is_out_cut, is_err_cut; /* longer than the policy allows */
};

/* The notice for a stream that was cut; needs no escaping. */
#define SCRIPT_CUT "the output is longer than the policy allows, and was cut"

void script_init(struct script *script);
void script_done(struct script *script);

/* Takes one event of the run. */
void script_take(struct script *script, const char *line, size_t size);

/* Is this a relative path without ".."? The op checks it again, and so does the sandbox. */
bool script_is_path(const char *path);

bool script_is(const struct script *script, const char *kind);

/* Was the run ended from outside: by a limit, or on request? */
bool script_is_stopped(const struct script *script);
