// SPDX-License-Identifier: Apache-2.0
/*
 * Tree - removing a folder and everything in it while another user may be changing it
 *
 * Owns:    the walk, by descriptors alone: a path could lead elsewhere by the time it is used.
 * May not: follow a link, enter another mount, or use root's rights on another user's files.
 */
#pragma once

/* Removes `name` in the directory `dir`. Root removes the contents of a folder with the rights of
 * the folder's owner (man 2 setfsuid), and the folder itself with its own. Returns 0, or a negative
 * errno when something is left: -ENOTEMPTY below a depth of 128 folders, or when another process
 * keeps making files. */
int tree_remove(int dir, const char *name);
