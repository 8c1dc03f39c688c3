// SPDX-License-Identifier: Apache-2.0
/*
 * Script - a run as those see it who know processes: two streams, an exit code, a signal
 *
 * Owns:    what a run's events say, gathered: texts stay as they stand in JSON, escaped.
 * May not: know which door wants it.
 *
 * An interpreter would have written its traceback to stderr, so that is where it goes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct script {
	struct buf out, err,
		both;       /* inside of JSON strings; `both`: in the order they were written */
	struct buf message; /* likewise: the verdict's, and what to do */
	struct buf files;   /* JSON: the list of the verdict; empty: none */
	char kind[16];      /* of the verdict; "": none came */
	int64_t exit_code;
	int64_t signal; /* 0: none */
	uint64_t wall_ms, cpu_ms, memory;
	bool is_out_cut, is_err_cut; /* longer than the policy lets through */
};

/* What is said of a stream that is not whole; needs no escape. */
#define SCRIPT_CUT "the output is longer than the policy lets through, and was cut"

void script_init(struct script *script);
void script_done(struct script *script);

/* One event of the run. */
void script_take(struct script *script, const char *line, size_t size);

bool script_is(const struct script *script, const char *kind);

/* Ended from outside: by a limit, or on request. */
bool script_is_stopped(const struct script *script);
