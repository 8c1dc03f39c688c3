// SPDX-License-Identifier: Apache-2.0
/*
 * Roots - the template roots of the inner half, and the shells that wait for them
 *
 * Owns:    which roots there are, which are being built, and handing them to shells.
 * May not: build one itself: root.c does, in a process of its own. The first sandbox is requested
 *          together with its root, so its namespaces are made while the root is being built.
 */
#pragma once

#include "launch/boxes.h"
#include "launch/shell.h"

/* Starts without any root. */
void roots_init(struct inner *inner);

/* A request for a root; fds[0] is the runner's directory, then one per bind. */
void roots_make(struct inner *inner, const struct launch_root *root, const int *fds);

/* If that root is being built, waits for it and reports the result. */
void roots_settle(struct inner *inner, uint32_t id);

/* Gives a shell its root; while that is being built, the shell gets it later (box->waits_root). */
int roots_take(struct inner *inner, struct box *box, struct shell_input *shell, struct err *err);

void roots_forget(struct inner *inner);
