// SPDX-License-Identifier: Apache-2.0
/*
 * Measure - the memory limit where no cgroup is available
 *
 * Owns:    the sampling of what a running sandbox uses: memory of its processes and its tmpfs.
 * May not: be taken for a cgroup: between two samples a sandbox may overshoot, and kernel memory is
 *          not seen. Results say `measured`, and rlimits are the second line of defence.
 *
 * A child process takes each sample, because a sandbox can make it take arbitrarily long.
 */
#pragma once

#include "launch/boxes.h"

/* Starts a sample of every armed sandbox, unless the previous one is still running. */
void measure_start(struct inner *inner);

/* The sample's pipe is readable or at end of file: ends sandboxes above their limit. */
void measure_read(struct inner *inner);
