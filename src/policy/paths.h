// SPDX-License-Identifier: Apache-2.0
/*
 * Paths - where our files live, and which directories never go into a sandbox whole
 *
 * Owns:    the XDG rules (user) and their system twins, and the list of directories of the host
 *          that show more than was meant.
 * May not: open files, or make a directory but the one for our sockets.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <sys/types.h>

#include "base/err.h"

#define PATHS_MAX 512

/* The user's config directory: $XDG_CONFIG_HOME/vivarium or ~/.config/vivarium. False without a
 * home. */
bool path_user_config(char *ret_path, size_t size);

/* Where `viv runtime add` writes: the user's, for root without XDG_CONFIG_HOME the system's. */
bool path_own_config(char *ret_path, size_t size);

/* The default of state_dir: $XDG_STATE_HOME/vivarium, ~/.local/state/vivarium, or for root (and
 * without a home) /var/lib/vivarium. */
void path_state(char *ret_path, size_t size);

/* The default of runtime_dir: $XDG_RUNTIME_DIR/vivarium, for root /run/vivarium, else
 * /tmp/vivarium-UID. Root's XDG directories count only where others may enter them. */
void path_runtime(char *ret_path, size_t size);

/* Whether a process of `uid`, and of no group, can get into the directory `path`; what is not there
 * yet is no hindrance. When not, ret_closed is the first directory that keeps it out. */
bool path_can_enter(const char *path, uid_t uid, char *ret_closed, size_t size);

/* Makes the directory (0700; the one above it is there), or checks that one that is there is ours
 * or root's and that nobody else can put anything into it. -EPERM when not: in /tmp anybody may
 * have made it first. */
int path_make_private(const char *path, struct err *err);

#define PATH_SYSTEM_CONFIG "/etc/vivarium"

/* Is `path`, an absolute one, inside `directory` or the same? By text; both normal. */
bool path_is_below(const char *path, const char *directory);

/* Does `path` lie in the directory, however deep? By what is on the disk: links, mounts and other
 * names for the same directory do not hide it. What is not there yet counts where it would be made.
 */
bool path_holds(const char *directory, const char *path);

/* Would binding this directory show the host rather than one thing on it? "/", "/home", a home
 * directory, anything in /etc, /proc, /sys, /dev, /run, /boot; also what is not a normal absolute
 * path. */
bool path_is_too_wide(const char *path);
