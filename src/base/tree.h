// SPDX-License-Identifier: Apache-2.0
/*
 * Tree - removing a folder and everything in it, where somebody else may be changing it
 *
 * Owns:    the walk, by descriptors alone: a path could lead elsewhere by the time it is used.
 * May not: follow a link, enter another mount, or use root's rights on what is another user's.
 */
#pragma once

/* Removes `name` in the directory `dir`. Root removes what is inside of a folder with the rights of
 * the folder's owner (man 2 setfsuid), and the folder itself with its own. Returns 0, or the
 * negative errno of what is left: -ENOTEMPTY below a depth of 128 folders, or when somebody keeps
 * making files. */
int tree_remove(int dir, const char *name);
