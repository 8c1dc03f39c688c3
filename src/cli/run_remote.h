// SPDX-License-Identifier: Apache-2.0
/*
 * Run remote - one run in a daemon, watched from a terminal
 *
 * Owns:    the request, what is typed for the run's stdin, and what Ctrl-C means meanwhile.
 * May not: leave a run of its own behind: it ends when its viewer does. A session's run may go on.
 */
#pragma once

#include <stdbool.h>

#include "cli/client.h"
#include "cli/run_lines.h"

struct run_remote {
	struct client *client;   /* borrowed, as all here */
	struct run_lines *lines; /* gets the events */
	const char *session; /* Ctrl-C interrupts and keeps its variables; NULL: a run of its own */
	const char *path;    /* of the request */
	int body;            /* descriptor of the request's JSON */
	int signals;         /* a signalfd; -1: none */
	int input;           /* goes to the run's live stdin; -1: none */
};

/* Runs it to its verdict. *ret_signal is the signal that ended it, or 0. */
int run_remote(const struct run_remote *remote, int *ret_signal, struct err *err);

/* A signalfd of SIGINT, SIGTERM and SIGHUP, which are blocked from here on: they arrive as bytes,
 * so they also end a wait for a reader that does not read. */
int run_remote_signals(int *ret_fd, struct err *err);
