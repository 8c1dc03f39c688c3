// SPDX-License-Identifier: Apache-2.0
/*
 * Zygote - the loop in a warm interpreter that forks sandboxes
 *
 * Owns:    the fork: into a shell's pid namespace, with launch as the parent, walls up, HELLO sent.
 * May not: run user code or see user data. The only bytes it reads come from viv-launch.
 */
#pragma once

#include "base/err.h"
#include "walls/wall.h"

/* Serves fork requests on `socket`. `lacks` lists modules that are not installed, for launch.
 * Returns 0 in a forked child inside its sandbox (only descriptors 0 to 3 are open), 1 at end of
 * file, or a negative errno in the zygote itself. The caller holds the GIL and is the only thread.
 * In the child *ret_report says which walls are up. */
int zygote_serve(int socket, const char *lacks, struct walls_report *ret_report, struct err *err);

/* Tells launch why there will be no zygote. The caller ends the process. */
void zygote_fail(int socket, const char *why);
