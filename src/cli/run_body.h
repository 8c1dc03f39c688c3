// SPDX-License-Identifier: Apache-2.0
/*
 * Run body - the inputs of `viv run` as the JSON of a request
 *
 * Owns:    which inputs a request can carry, and how.
 * May not: hold files in memory twice: they go from their descriptor into the body's, in pieces.
 */
#pragma once

#include <stdbool.h>

#include "cli/run_inputs.h"

/* Could a daemon's answer to this be the same as our own? No: code that is not UTF-8, data in a
 * format that only the command line reads or that is not valid, more than a request should be. */
bool run_body_is_possible(const struct run_inputs *inputs);

/* Makes the body, read from its start; `is_session` leaves out what a session has decided. The
 * caller closes it. */
int run_body_make(const struct run_inputs *inputs, bool is_session, int *ret_fd, struct err *err);
