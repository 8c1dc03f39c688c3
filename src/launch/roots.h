// SPDX-License-Identifier: Apache-2.0
/*
 * Roots - the template roots of the inner half, and the shells that wait for one
 *
 * Owns:    which roots there are, which are being built, and handing them to shells.
 * May not: build one itself: root.c does, in a process of its own. The first sandbox is asked for
 *          together with its root, and its namespaces are made while that is being built.
 */
#pragma once

#include "launch/boxes.h"
#include "launch/shell.h"

/* Nothing there, nothing being built. */
void roots_init(struct inner *inner);

/* A request for a root; fds[0] is the runner's directory, then one per bind. */
void roots_make(struct inner *inner, const struct launch_root *root, const int *fds);

/* Waits until that root is built, if it is being built, and tells. */
void roots_settle(struct inner *inner, uint32_t id);

/* The root for a shell; it is told later (box->waits_root) where one is being built. */
int roots_take(struct inner *inner, struct box *box, struct shell_input *shell, struct err *err);

void roots_forget(struct inner *inner);
