// SPDX-License-Identifier: Apache-2.0
/*
 * Elitea - what the ELITEA dialect's own files share
 *
 * Owns:    the limits of the dialect, one run under way, and the shapes of its answers.
 * May not: know how a run is asked for: over HTTP, MCP, or from the command line.
 *
 * The state of a conversation is the client's: it comes with each run and goes back with its
 * answer. After a run that failed it goes back as it came.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "door/ending.h"
#include "op/op.h"

#define ELITEA_NEEDS_METADATA "sessionMetadata is required when providing sessionBytes"

/* From the config; ELITEA's own variables of the environment win over it. */
struct elitea_limits {
	uint64_t concurrent; /* 0: no limit */
	uint64_t pressure;   /* percent; 0: no limit */
	uint64_t timeout_ms, memory, session_max;
};

/* What a run brings along, and what its answer needs of it. */
struct elitea_run {
	struct op_run_args args;
	bool is_stateful;
	json_t *metadata; /* borrowed: the client's; NULL: none */
	char timeout[32]; /* in seconds, as it was given; "": it was not */
};

void elitea_limits_read(const struct config *config, struct elitea_limits *ret_limits);

/* How many runs of this dialect, and of this caller's token, are under way or wait, through
 * whichever door they came. */
uint32_t elitea_running(const struct engine *engine, const struct op_caller *caller);

/* May one more run start, beside those that are on? If not, `ret_why` has the refusal. */
bool elitea_admits(const struct elitea_limits *limits, uint32_t running, char *ret_why,
		   size_t room);

/* Fills the args of a run but for its code and state: policy and limits. run->timeout is what the
 * client asked for, as JSON text; what is no number of seconds, or too large a one, is the longest
 * there is, and told so from here on. */
void elitea_prepare(const struct elitea_limits *limits, const struct config *config,
		    const struct op_caller *caller, struct elitea_run *run);

/* A JSON string: what is to be said of a run that failed. */
int elitea_put_error(const struct elitea_run *run, const struct ending *ending, struct buf *buf);

/* A JSON string: what was printed, and that it was cut where it was. */
int elitea_put_output(const struct ending *ending, struct buf *buf);

/* {"success","stdout","stderr","result","session_bytes","session_metadata"} of a run that was, and
 * "charts" where it drew any. */
int elitea_put_answer(const struct elitea_run *run, const struct ending *ending, struct buf *buf);

/* The same of one that was not: why is for stderr. */
int elitea_put_refusal(const struct elitea_run *run, const char *why, struct buf *buf);
