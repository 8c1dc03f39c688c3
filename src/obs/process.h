// SPDX-License-Identifier: Apache-2.0
/*
 * Process - what this process uses, for its own metrics
 *
 * Owns:    which files of /proc and which calls say so.
 * May not: fail: what cannot be found out is 0.
 */
#pragma once

#include <stdint.h>

struct process_facts {
	double cpu_seconds;
	double start_seconds; /* since the epoch */
	uint64_t memory;      /* resident, bytes */
	uint64_t fds, fds_max;
};

struct process_facts process_look(void);
