// SPDX-License-Identifier: Apache-2.0
/*
 * Saved file - one file copied aside or put back, and the removal of anything
 *
 * Owns:    the bytes: holes stay holes, and a file is read only where it has data.
 * May not: open anything but a regular file: the name may belong to something else by now.
 */
#pragma once

#include "launch/saved_tree.h"

/* The same place in three trees. */
struct saved_dirs {
	int from; /* of /workspace */
	int to;   /* of the copy that is made */
	int like; /* of an earlier copy, or -1 */
};

/* Links the file from the earlier copy, or copies it. */
int saved_file_save(struct saved_tree *tree, const struct saved_dirs *dirs, const char *name,
		    const struct stat *status, struct err *err);

/* Copies the file back unless it is unchanged. If the file is still the one that was saved it keeps
 * its inode, so that programs which have it open see the old content again. */
int saved_file_restore(struct saved_tree *tree, int from, int to, const char *name,
		       const struct stat *copy, struct err *err);

/* Removes a file or a whole tree, however deep; a missing one is fine. is_copy: it is in the
 * store. */
int saved_file_remove(struct saved_tree *tree, int dir, const char *name, bool is_copy,
		      struct err *err);

/* Does the kernel give each change after a look its own timestamp (Linux 6.13), or only the current
 * tick? */
bool saved_file_has_fine_clock(int store);
