// SPDX-License-Identifier: Apache-2.0
/*
 * Files - saved copies of a sandbox's /workspace, one for each head that asked
 *
 * Owns:    the store of a sandbox (a tmpfs that is mounted nowhere) and the helper that works on
 *          it.
 * May not: read a name or a byte of a sandbox itself: the helper does, in the sandbox's cgroups,
 *          mount and user namespace, as its one id, for a few seconds at most.
 *
 * One helper at a time works for a sandbox; the outer half asks for no second one.
 */
#pragma once

#include "launch/boxes.h"

struct files;

/* SAVE or RESTORE. Descriptors: those needed to join the sandbox's cgroups (cgroup_open_all), of
 * which the first is the v2 directory when request->reserved says so. */
void files_request(struct inner *inner, const struct launch_request *request, int *take_fds,
		   size_t fd_count);

/* The copies of a head are no longer needed. */
void files_unsave(struct inner *inner, const struct launch_head_ref *ref);

/* The helper of the sandbox has ended: sends its answer. */
void files_over(struct inner *inner, uint32_t sandbox);

/* How long the loop may sleep, in ms; -1 for ever. Ends helpers that take too long. */
int files_timeout(const struct inner *inner);
void files_tick(struct inner *inner);

/* Ends a running helper; files_over follows. */
void files_stop(struct files *files);
bool files_is_busy(const struct files *files);

/* Bytes of all copies, which count towards the sandbox's memory. */
uint64_t files_used(const struct files *files);

/* Frees everything; accepts NULL. */
void files_free(struct files *files);
