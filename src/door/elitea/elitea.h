// SPDX-License-Identifier: Apache-2.0
/*
 * Elitea - what the ELITEA dialect's own files share
 *
 * Owns:    the limits of the dialect, one run under way, and the shapes of its answers.
 * May not: know how a run is asked for: over HTTP, MCP, or from the command line.
 *
 * The client keeps the state of a conversation: it comes with each run and goes back with the
 * answer; after a failed run, unchanged.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "door/ending.h"
#include "op/op.h"
#include "policy/config.h"

/* dialects.elitea (elitea_config.c). ELITEA's own environment variables override it. */
struct elitea_limits {
	uint64_t concurrent; /* 0: no limit */
	uint64_t pressure;   /* percent; 0: no limit */
	uint64_t timeout_ms, memory, session_max;
};

struct elitea_config {
	struct config_door door;
	char *policy;
	struct elitea_limits limits;
};

extern const struct config_part elitea_config;

#define ELITEA_NEEDS_METADATA "sessionMetadata is required when providing sessionBytes"

/* A run, and what its answer needs of the request. */
struct elitea_run {
	struct run_request args;
	bool is_stateful;
	json_t *metadata; /* borrowed: the client's; NULL: none */
	char timeout[32]; /* in seconds, as given; "": not given */
};

void elitea_limits_read(const struct config *config, struct elitea_limits *ret_limits);

/* The number of this dialect's runs with this caller's token that are running or waiting, whichever
 * door they came through. */
uint32_t elitea_running(const struct engine *engine, const struct op_caller *caller);

/* May one more run start, beside `running` others? If not, `ret_why` has the refusal. */
bool elitea_admits(const struct elitea_limits *limits, uint32_t running, char *ret_why,
		   size_t room);

/* Sets the policy and limits of a run; code and state are the caller's. run->timeout is the timeout
 * that the client asked for, as JSON text. If it is not a number of seconds, or too large, it is
 * replaced by the longest allowed one. */
void elitea_prepare(const struct elitea_limits *limits, const struct config *config,
		    const struct op_caller *caller, struct elitea_run *run);

/* Appends a JSON string: the error of a failed run. */
int elitea_put_error(const struct elitea_run *run, const struct ending *ending, struct buf *buf);

/* Appends a JSON string: the output, with a notice if it was cut. */
int elitea_put_output(const struct ending *ending, struct buf *buf);

/* Appends {"success","stdout","stderr","result","session_bytes","session_metadata"} for a finished
 * run, and "charts" if it drew any. */
int elitea_put_answer(const struct elitea_run *run, const struct ending *ending, struct buf *buf);

/* The same for a run that was refused: `why` becomes stderr. */
int elitea_put_refusal(const struct elitea_run *run, const char *why, struct buf *buf);
