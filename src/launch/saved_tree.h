// SPDX-License-Identifier: Apache-2.0
/*
 * Saved tree - /workspace copied aside, and put back
 *
 * Owns:    the walk through both trees: equal files are left alone or linked, others are copied.
 * May not: follow a link, build a path, or leave the two trees: names come from hostile code, and
 *          each is used only below the directory it was read from.
 *
 * Runs in launch's helper. A file counts as unchanged if its inode, size and times are the same;
 * later writes through a shared mapping change none of these, and are not seen.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "launch/saved_index.h"

struct saved_tree {
	int store;       /* borrowed: a tree per head, and the index */
	int workspace;   /* borrowed */
	uint64_t room;   /* bytes that all copies together may take */
	uint64_t used;   /* ... and take */
	uint64_t copied; /* bytes copied by this job */
	uint32_t entries;
	bool has_fine_clock; /* no two changes of a file have the same time */
	struct saved_index index;
};

/* Opens the index and measures what the store holds. */
int saved_tree_open(struct saved_tree *tree, struct err *err);

/* Copies /workspace for a head. `like` is a head whose copy is linked from where files are equal,
 * or -1. On failure nothing is kept: ERR_TOO_LARGE when there is no room. */
int saved_tree_save(struct saved_tree *tree, uint32_t head, int32_t like, struct err *err);

/* Restores /workspace to what it was for the head. */
int saved_tree_restore(struct saved_tree *tree, uint32_t head, struct err *err);

/* Removes the copy of a head; a missing one is fine. */
int saved_tree_remove(struct saved_tree *tree, uint32_t head, struct err *err);
