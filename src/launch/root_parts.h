// SPDX-License-Identifier: Apache-2.0
/*
 * Root parts - the steps that a template root is made of, for root.c and root_bare.c alone
 *
 * Owns:    nothing of its own. `stage` is the new root's directory, a `target` a path below it.
 * May not: be used outside of the builder's own process and mount namespace.
 */
#pragma once

#include <stdint.h>

#include <linux/mount.h>

#include "base/err.h"

#define ROOT_READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* A detached, restricted copy of the mount tree at `path` below `from`. */
int root_clone(int from, const char *path, uint64_t attributes, int *ret_tree, struct err *err);

/* Mounts a copy made by root_clone. */
int root_attach(int tree, int stage, const char *target, struct err *err);

/* Clones and mounts a path of the host. */
int root_bind(const char *path, int stage, const char *target, uint64_t attributes,
	      struct err *err);

int root_make_file(int stage, const char *name, const char *text, struct err *err);

/* root_bare.c: expects /usr mounted so that nothing in it can be executed. Makes the folders of
 * programs and their libraries executable again, and covers every Python in them. */
int root_without_python(int stage, struct err *err);
