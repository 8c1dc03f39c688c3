// SPDX-License-Identifier: Apache-2.0
/*
 * Shown - the host's folders in a sandbox: a policy's data, what is explored, a venv
 *
 * Owns:    the overlays that show them. The inodes of an overlay are its own: a socket in such a
 *          folder has no listener, a pipe has no other end, and a lock blocks nobody on the host.
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

/* In a shell, with the copied root around it: puts an overlay over every folder, or leaves all of
 * them as they are if one cannot have it (mounts below it, a file system that overlays do not
 * support) and says so. */
int shown_cover(const struct launch_root *root, struct shown *ret_shown, struct err *err);

/* Takes over the overlays that a shell has sent. */
void shown_take(struct shown *shown, uint32_t how, int *take_fds, size_t fd_count);

/* An overlay caches the names that were looked up in it. Drops them, so that changes on the host
 * become visible. */
void shown_refresh(const struct shown *shown);

void shown_done(struct shown *shown);
