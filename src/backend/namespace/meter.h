// SPDX-License-Identifier: Apache-2.0
/*
 * Meter - what the kernel counts of a session's sandbox, read here
 *
 * Owns:    descriptors of the cgroup's files, opened by launch; those of the sandboxes that were
 * used last are kept, for descriptors are what a daemon with thousands of sessions lacks first. May
 * not: judge. Where something was killed, or a number cannot be had, launch is asked.
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
	struct meters *meters;       /* borrowed: that it is open among; NULL: it is not open */
	bool is_asked;               /* launch was asked for it, and has not answered */
	TAILQ_ENTRY(meter) entry;
};

/* All that are open, the last used one at the end. */
struct meters {
	TAILQ_HEAD(, meter) open;
	uint32_t count;
};

void meters_init(struct meters *meters);

/* What launch answered. Consumes the descriptors; none: nobody counts here. */
void meter_take(struct meters *meters, struct meter *meter, int *take_fds, size_t fd_count);
void meter_done(struct meter *meter);

/* A run is about to begin. */
void meter_mark(const struct meter *meter, struct box_mark *mark);

/* It has begun, just now: the rest of the mark, for which the code need not wait. What it has used
 * by then is in its own clock, and its memory is still in use. `is_alone`: the peak is counted
 * anew. */
void meter_count(struct meter *meter, bool is_alone, struct box_mark *mark);

/* Fills cpu_us, peak and memory of a run that has ended well. False: the meter cannot say, or the
 * kernel killed something meanwhile. */
bool meter_read(const struct meter *meter, const struct box_mark *mark, struct box_exit *facts);
