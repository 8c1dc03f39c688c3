// SPDX-License-Identifier: Apache-2.0
/*
 * Outer - the half of viv-launch on the host's side
 *
 * Owns:    the socket to viv, cgroups, id maps, deadlines, and the facts of a sandbox's end.
 * May not: exec Python, build a sandbox itself, or parse text. A request is a fixed struct from a
 *          closed table; every number in it is checked again here before anything is done.
 */
#pragma once

/* Serves the socket until it ends; leaves nothing behind. Returns the exit status. */
int outer_main(int *take_socket);
