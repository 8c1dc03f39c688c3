// SPDX-License-Identifier: Apache-2.0
/*
 * Measure - the memory limit where no cgroup can be had
 *
 * Owns:    the sampling of what a running sandbox uses: memory of its processes and its tmpfs.
 * May not: be taken for a cgroup: between two samples a sandbox may overshoot, and kernel memory is
 *          not seen. Results say `measured`, and rlimits stand behind it.
 *
 * A sample is taken by a child of its own: how long it takes is in the sandbox's hand.
 */
#pragma once

#include "launch/boxes.h"

/* Starts a sample of every armed sandbox, unless the last one is still at work. */
void measure_start(struct inner *inner);

/* The sample's pipe has something, or ended: ends what is above its limit. */
void measure_read(struct inner *inner);
