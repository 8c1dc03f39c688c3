// SPDX-License-Identifier: Apache-2.0
/*
 * Run log - the log of a run, for clients and for the next daemon
 *
 * Owns:    who may see it, and the stream of its events.
 * May not: write to it: the run does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "op/op.h"
#include "session/engine.h"
#include "session/log.h"

#define RUN_LOG_CODE_MAX (1U << 20) /* bytes of code in the log: for people and the notebook */

/* May this caller know of this run? Runs belong to the token that started them; overseers see
 * all. */
bool run_log_may_see(const struct log *log, const struct op_caller *caller);

/* The log of a run that the caller may see, or, for find_own, that is its own. NULL: the call has
 * failed. */
struct log *run_log_find(struct op_call *call, const char *id);
struct log *run_log_find_own(struct op_call *call, const char *id);

/* Answers the call with the events after `after`; `follow`: also with new ones. Lines are sent as
 * they are. A quiet stream sends `keepalive` now and then, and with `follow` the stream of a held
 * run begins with `held`. Neither has a number: they belong to the stream, not to the run. */
void run_log_stream(struct op_call *call, struct log *log, uint64_t after, bool follow);

/* For a log without an end. Was the run waiting to be allowed, and had not begun? Was its code sent
 * to a sandbox? */
bool run_log_was_held(const struct log *log);
bool run_log_had_begun(const struct log *log);

/* The state in which a run without a verdict left its session. */
enum run_left run_log_left(const struct engine *engine, const struct log *log);
