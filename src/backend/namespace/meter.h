// SPDX-License-Identifier: Apache-2.0
/*
 * Meter - the kernel's counters of a session's sandbox, read directly
 *
 * Owns:    descriptors of the cgroup's files, opened by launch; only those of the most recently
 * used sandboxes are kept, because a daemon with thousands of sessions runs out of descriptors
 * first. May not: judge. If a process was killed, or a number cannot be read, launch is asked.
 *
 * A run of some microseconds would otherwise wait for launch to wake up twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>
#include <sys/types.h>

#include "backend/box.h"
#include "proto/launch_msg.h"

#define METERS_MAX 256 /* open at a time */

struct meters;

struct meter {
	int fds[LAUNCH_METER_COUNT]; /* owned, while it is open */
	struct meters *meters;       /* borrowed: the list it is open in; NULL: not open */
	bool is_asked;               /* launch was asked for it, and has not answered yet */
	TAILQ_ENTRY(meter) entry;
};

/* All open meters, the last used one at the end. */
struct meters {
	TAILQ_HEAD(, meter) open;
	uint32_t count;
};

void meters_init(struct meters *meters);

/* Takes launch's answer. Consumes the descriptors; none: no cgroup counts here. */
void meter_take(struct meters *meters, struct meter *meter, int *take_fds, size_t fd_count);
void meter_done(struct meter *meter);

/* A run is about to begin. */
void meter_mark(const struct meter *meter, struct box_mark *mark);

/* The run has just begun: takes the rest of the mark, for which the code need not wait. CPU time
 * used so far is in the process's own clock, and memory is still in use. `is_alone`: resets the
 * peak. */
void meter_count(struct meter *meter, bool is_alone, struct box_mark *mark);

/* Fills cpu_us, peak and memory of a run that has ended well. False: the meter cannot say, or the
 * kernel killed something meanwhile. */
bool meter_read(const struct meter *meter, const struct box_mark *mark, struct box_exit *facts);
