// SPDX-License-Identifier: Apache-2.0
/*
 * Paths - where our files live, and which directories are never shown whole in a sandbox
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

/* Can a process of `uid`, without groups, enter the directory `path`? Missing directories do not
 * count against it. If not, ret_closed is the first directory that keeps it out. */
bool path_can_enter(const char *path, uid_t uid, char *ret_closed, size_t size);

/* Makes the directory (0700; its parent exists), or checks that an existing one belongs to us or
 * root and that nobody else can write to it. -EPERM if not: in /tmp anyone may have made it
 * first. */
int path_make_private(const char *path, struct err *err);

#define PATH_SYSTEM_CONFIG "/etc/vivarium"

/* Is the absolute `path` inside `directory`, or equal to it? Compares text; both must be normal. */
bool path_is_below(const char *path, const char *directory);

/* Is `path` in the directory, however deep? Compares what is on disk, so links, mounts and other
 * names for the same directory do not hide it. A path that does not exist yet counts where it would
 * be made. */
bool path_holds(const char *directory, const char *path);

/* Would binding this directory show the host rather than one thing on it? "/", "/home", a home
 * directory, anything in /etc, /proc, /sys, /dev, /run, /boot; also anything but a normal absolute
 * path. */
bool path_is_too_wide(const char *path);
