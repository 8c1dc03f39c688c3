// SPDX-License-Identifier: Apache-2.0
/*
 * Run remote - one run in a daemon, watched from a terminal
 *
 * Owns:    the request, what is typed for the run's stdin, and what Ctrl-C means meanwhile.
 * May not: leave a run without a session behind: that ends with its viewer. A session's run may go
 *          on.
 */
#pragma once

#include <stdbool.h>

#include "cli/client.h"
#include "cli/run_lines.h"

struct run_remote {
	struct client *client;   /* borrowed, as all here */
	struct run_lines *lines; /* gets the events */
	const char *session;     /* Ctrl-C interrupts its run and keeps its variables; NULL: none */
	const char *path;        /* of the request */
	int body;                /* descriptor of the request's JSON */
	int signals;             /* a signalfd; -1: none */
	int input;               /* goes to the run's live stdin; -1: none */
};

/* Follows the run to its verdict. *ret_signal is the first signal that came, or 0. */
int run_remote(const struct run_remote *remote, int *ret_signal, struct err *err);

/* Opens a signalfd for SIGINT, SIGTERM and SIGHUP, which are blocked from here on. A poll() that
 * includes it also ends when a signal comes while nobody reads our output. */
int run_remote_signals(int *ret_fd, struct err *err);
