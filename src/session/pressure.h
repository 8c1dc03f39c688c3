// SPDX-License-Identifier: Apache-2.0
/*
 * Pressure - has the host memory left for new work?
 *
 * Owns:    the two files of /proc that tell, kept open, and how often they are read.
 * May not: act on it: admission does.
 *
 * Little available memory is enough to refuse new work. Stalls (PSI) count only while less than a
 * quarter of the memory is available: a sandbox that thrashes at its own limit raises the stall
 * figure of the whole host, and must not be able to lock everybody out.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct pressure;

/* `proc` is "/proc". `percent`: the share of the last ten seconds in which some process may have
 * waited for memory; 100: only the available memory counts. Never fails: a missing file is
 * ignored. */
struct pressure *pressure_new(const char *proc, uint32_t percent);
void pressure_free(struct pressure *pressure);

/* Returns 0, or -ENOMEM and ERR_BUSY with the figures. Reads the files at most every 250 ms of
 * `now` (monotonic, ns); in between the last answer holds. */
int pressure_check(struct pressure *pressure, uint64_t now, struct err *err);
