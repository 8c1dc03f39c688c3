// SPDX-License-Identifier: Apache-2.0
/*
 * Root - the template root: the file tree that zygotes live in and shells copy
 *
 * Owns:    which files a sandbox can see: /usr of the host, read-only, an /etc of our own, five
 *          device nodes, the runner, and nothing else of the host.
 * May not: follow a path that code in a sandbox could change: it is built once, from the host's own
 *          tree, before any sandbox exists.
 */
#pragma once

#include "base/err.h"
#include "proto/launch_msg.h"

/* Begins to build a root, in a process of its own. runner: directory that becomes /viv; binds: one
 * per root->binds. Both are O_PATH descriptors that lie in this process's mount namespace.
 * *ret_answer is for root_finish, and the caller's to close. */
int root_start(const struct launch_root *root, int runner, const int *binds, int *ret_answer,
	       struct err *err);

/* Waits until the root is built and returns its mount namespace. */
int root_finish(uint32_t id, int answer, int *ret_mntns, struct err *err);
