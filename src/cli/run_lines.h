// SPDX-License-Identifier: Apache-2.0
/*
 * Run lines - the events of a run in a daemon, as `viv run` shows them
 *
 * Owns:    what the events have told so far: the run's id, its value, its traceback, its verdict.
 * May not: print by itself: the show does, so that a run in a daemon looks like a local one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/id.h"
#include "cli/run_show.h"

struct run_lines {
	struct show *show; /* borrowed */
	char run[ID_SIZE]; /* "": not told yet */
	bool is_held;      /* the run waits for a person, and reads nothing yet */
	bool has_verdict;
	uint64_t seq;                   /* of the last event */
	char state[16];                 /* "preserved", "rolled_back", ... */
	char note[1024];                /* the session's note about its state; "": none */
	char skipped[SKIPPED_TEXT_MAX]; /* why the run left no checkpoint; "": it left one */
	struct buf parts[RESULT_COUNT]; /* owned: value, error, missing and left-out files */
	struct run_facts facts;         /* borrows from the above */
};

void run_lines_init(struct run_lines *lines, struct show *show);
void run_lines_done(struct run_lines *lines);

/* Takes one event, without its newline. Always 0: an unreadable event is skipped. */
int run_lines_take(struct run_lines *lines, const char *line, size_t size);

/* Says what a run did to the state of its session, if it failed or left no checkpoint. */
void run_lines_tell_state(const struct run_lines *lines);

/* Appends a result without the bytes of its files, which went to the folder of --out. */
int run_lines_put_result(struct buf *buf, const char *json, size_t size);
