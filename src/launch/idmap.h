// SPDX-License-Identifier: Apache-2.0
/*
 * Idmap - which host ids the inner half and its sandboxes use
 *
 * Owns:    the choice (root: a range of our own; a user with subordinate ids: that range; else the
 *          user's single id) and the writing of the inner half's uid_map and gid_map.
 * May not: give out host id 0, ever.
 */
#pragma once

#include <stdint.h>

#include <sys/types.h>

#include "base/err.h"

/* Ids of a range, as the inner half sees them: 0 is its own, each sandbox takes one from here
 * on. */
#define IDMAP_FIRST_SANDBOX 1000
#define IDMAP_COUNT 65536

struct idmap {
	uint32_t count; /* 1: a single id, shared by all sandboxes */
	uint32_t uid;   /* host id that is 0 inside */
	uint32_t gid;
};

/* Writes the id maps of the user namespace of process `pid` (a child that waits for them). */
int idmap_write(pid_t pid, struct idmap *ret_map, struct err *err);
