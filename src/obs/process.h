// SPDX-License-Identifier: Apache-2.0
/*
 * Process - the resources this process uses, for its metrics
 *
 * Owns:    which /proc files and calls they are read from.
 * May not: fail: a figure that cannot be read is 0.
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
