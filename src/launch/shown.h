// SPDX-License-Identifier: Apache-2.0
/*
 * Shown - the host's folders in a sandbox: a policy's data, what is explored, a venv
 *
 * Owns:    the overlays through which they are seen. The inodes of an overlay are its own: a socket
 *          in such a folder has no listener, a pipe has no other end, and a lock holds nobody on
 *          the host.
 * May not: show more than the template root does, or anything that can be written.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/launch_msg.h"

struct shown {
	uint32_t how;                   /* enum plan_shown */
	size_t count;                   /* of contexts */
	int contexts[LAUNCH_BINDS_MAX]; /* owned: of the overlays, for shown_refresh */
};

/* In a shell, with the copied root around it: puts an overlay in the place of every folder, or
 * leaves all of them as they are where one cannot have it (mounts below it, a file system that
 * overlays are not made of) and says so. */
int shown_cover(const struct launch_root *root, struct shown *ret_shown, struct err *err);

/* Takes over what a shell has sent. */
void shown_take(struct shown *shown, uint32_t how, int *take_fds, size_t fd_count);

/* An overlay remembers the names that were looked up in it. Lets it forget them, so that what has
 * changed on the host is seen. */
void shown_refresh(const struct shown *shown);

void shown_done(struct shown *shown);
