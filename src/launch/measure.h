// SPDX-License-Identifier: Apache-2.0
/*
 * Measure - the memory limit where no cgroup can be had
 *
 * Owns:    the sampling of what a running sandbox uses: memory of its processes and its tmpfs.
 * May not: be taken for a cgroup: between two samples a sandbox may overshoot, and a memfd that
 *          nobody maps is not seen. Results say `measured`, and RLIMIT_AS stands behind it.
 */
#pragma once

#include "launch/boxes.h"

/* Samples every armed sandbox; ends those above their limit and tells the outer half. */
void measure_all(struct inner *inner);
