// SPDX-License-Identifier: Apache-2.0
/*
 * Outer - the half of viv-launch on the host's side
 *
 * Owns:    the socket to viv, cgroups, id maps, deadlines, and the facts of a sandbox's end.
 * May not: exec Python, build a sandbox itself, or parse text. A request is a fixed struct from a
 *          closed table; every number in it is checked again here before anything is done.
 */
#pragma once

#include <stdint.h>

#include <sys/types.h>

struct outer_options {
	uid_t owner;          /* the user who may connect, besides root */
	uint32_t reattach_ms; /* how long sandboxes wait for the next viv */
};

/* Serves the socket until it ends; leaves nothing behind. Returns the exit status. With options the
 * socket is a listening one, and sandboxes outlive a client for a while. */
int outer_main(int *take_socket, const struct outer_options *options);
