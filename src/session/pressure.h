// SPDX-License-Identifier: Apache-2.0
/*
 * Pressure - has the host memory left for new work?
 *
 * Owns:    the two files of /proc that say so, kept open, and how often they are read.
 * May not: act on it: admission does.
 *
 * Little memory available is a reason by itself. Stalls (PSI) are one only while less than a
 * quarter is available: a sandbox that thrashes at its own limit stalls the whole host's figure,
 * and must not be able to lock everybody out.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct pressure;

/* `proc` is "/proc". `percent`: how much of the last ten seconds something may have waited for
 * memory; 100: only what is available counts. Never fails: a file that is not there says nothing.
 */
struct pressure *pressure_new(const char *proc, uint32_t percent);
void pressure_free(struct pressure *pressure);

/* 0, or -ENOMEM and ERR_BUSY with the figures. Reads at most every 250 ms of `now` (monotonic, ns);
 * in between the last answer holds. */
int pressure_check(struct pressure *pressure, uint64_t now, struct err *err);
