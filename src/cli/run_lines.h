// SPDX-License-Identifier: Apache-2.0
/*
 * Run lines - the events of a run in a daemon, as `viv run` shows them
 *
 * Owns:    what the lines have said so far: the run's id, its value, its traceback, its verdict.
 * May not: print by itself: a run of a daemon's looks as one of our own does, so the show does it.
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
	bool is_held;      /* it waits for a person, and reads nothing yet */
	bool has_verdict;
	uint64_t seq;             /* of the last one */
	char state[16];           /* "preserved", "rolled_back", ... */
	char note[1024];          /* what the session says of its state; "": nothing special */
	struct buf result, error; /* owned: JSON text */
	struct buf missing;       /* owned */
	struct run_facts facts;   /* borrows from the above */
};

void run_lines_init(struct run_lines *lines, struct show *show);
void run_lines_done(struct run_lines *lines);

/* One event, without its newline. Always 0: what cannot be read is not shown. */
int run_lines_take(struct run_lines *lines, const char *line, size_t size);

/* Appends a result without the bytes of its files: they went to a folder. */
int run_lines_put_result(struct buf *buf, const char *json, size_t size);
