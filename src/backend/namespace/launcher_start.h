// SPDX-License-Identifier: Apache-2.0
/*
 * Launcher start - how viv-launch is started
 *
 * Owns:    its environment variables, and the socket it listens on.
 * May not: speak on that socket: launcher.c does.
 */
#pragma once

#include <stddef.h>

#include "backend/namespace/launcher.h"
#include "base/err.h"

#define LAUNCH_FD 3 /* where viv-launch finds its socket */

/* Starts one that ends with us, as our child, on that socket (still the caller's). The descriptor
 * of the process is the caller's. */
int launcher_child(int socket, pid_t *ret_pid, int *ret_pidfd, struct err *err);

/* Makes the socket for a staying launch; a dead socket at that path is replaced. */
int launcher_listen(const struct backend_stay *stay, int *ret_socket, struct err *err);

/* Starts a staying launch on that socket (still the caller's), and returns once it holds none of
 * our other descriptors. With `ret_pid` it is the caller's child, in a session of its own; else it
 * is orphaned. */
int launcher_spawn(const struct backend_stay *stay, int socket, pid_t *ret_pid, struct err *err);

/* Connects to the staying launch; never blocks. */
int launcher_dial(const char *path, int *ret_socket, struct err *err);

/* Does this failure of launcher_dial mean that no launch is listening? After any other failure (out
 * of descriptors, backlog full) there may be one, with everything it keeps, and its socket must
 * stay. */
bool launcher_is_absent(int r);
