// SPDX-License-Identifier: Apache-2.0
/*
 * Run daemon - `viv run` through a daemon that is running
 *
 * Owns:    when a daemon may do the work, and when it is better done here.
 * May not: show a difference: output, result and exit status are those of a local run.
 */
#pragma once

#include "cli/run_inputs.h"
#include "cli/run_lines.h"
#include "cli/run_show.h"

struct client;

/* Returns 1 and the exit status; 0, with nothing done, if there is no daemon that would take this
 * run from this caller; or the error of a daemon that took the request. */
int run_by_daemon(const struct config *config, const struct run_inputs *inputs, struct show *show,
		  int signals, int *ret_status, struct err *err);

/* Prints the end of a run that run_remote followed. Returns the exit status. */
int run_daemon_end(struct client *client, struct run_lines *lines, int signal, struct err *err);
