// SPDX-License-Identifier: Apache-2.0
/*
 * Run body - the inputs of `viv run` as the JSON of a request
 *
 * Owns:    which inputs a request can carry, and how.
 * May not: hold files in memory twice: they are copied in pieces, from descriptor to descriptor.
 */
#pragma once

#include <stdbool.h>

#include "cli/run_inputs.h"

/* True if a daemon can do this run with the same outcome. False for code that is not UTF-8, for
 * data that is invalid or in a format that only the command line reads, and for too many bytes. */
bool run_body_is_possible(const struct run_inputs *inputs);

/* Makes the body; *ret_fd stands at its start and is the caller's to close. `is_session` leaves out
 * what the session has already decided. */
int run_body_make(const struct run_inputs *inputs, bool is_session, int *ret_fd, struct err *err);
