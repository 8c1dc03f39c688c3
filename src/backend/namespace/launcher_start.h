// SPDX-License-Identifier: Apache-2.0
/*
 * Launcher start - where viv-launch is, and how it is started
 *
 * Owns:    the search for the program, its few variables, the socket it listens on.
 * May not: speak on that socket: launcher.c does.
 */
#pragma once

#include <stddef.h>

#include "backend/namespace/launcher.h"
#include "base/err.h"

#define LAUNCH_FD 3 /* where viv-launch finds its socket */

/* Where a program of ours may be, in order: beside viv (a build tree), where an installation has it
 * seen from viv (wherever that was moved), and below the prefix. */
int launcher_find(const char *name, char *ret_path, size_t size, struct err *err)
	__attribute__((nonnull));

/* The few variables that viv-launch may need to find the user's service manager, in `env` (NULL
 * behind the last), their texts in `text`. */
void launcher_environment(char **env, size_t room, char *text, size_t size);

/* Starts one that ends with us, as our child, on that socket (still the caller's). The descriptor
 * of the process is the caller's. */
int launcher_child(int socket, pid_t *ret_pid, int *ret_pidfd, struct err *err);

/* The socket that one that stays listens on; a dead one at that path is replaced. */
int launcher_listen(const struct backend_stay *stay, int *ret_socket, struct err *err);

/* Starts it on that socket (still the caller's), and returns when it has none of our other
 * descriptors any more. With `ret_pid` it is the caller's child, in a session of its own; else
 * nobody's. */
int launcher_spawn(const struct backend_stay *stay, int socket, pid_t *ret_pid, struct err *err);

/* A connection to the one that stays; never waits. */
int launcher_dial(const char *path, int *ret_socket, struct err *err);

/* Does this failure of launcher_dial mean that nobody is there? After any other (no descriptors,
 * too many who wait) one may be, with everything it keeps, and its socket must stay. */
bool launcher_is_absent(int r);
