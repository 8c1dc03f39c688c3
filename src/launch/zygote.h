// SPDX-License-Identifier: Apache-2.0
/*
 * Zygote - starting interpreters, warm and cold
 *
 * Owns:    their environment (built here, never inherited), their command line, their first
 *          descriptors.
 * May not: run in the outer half: nothing that execs Python holds a capability on the host.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "launch/boxes.h"
#include "proto/launch_msg.h"
#include "walls/wall.h"

/* Starts a zygote in the root `mntns` and tells it its walls. *ret_socket speaks
 * proto/zygote_msg.h; the zygote ends at its end of file. */
int zygote_start(const struct launch_zygote *zygote, int mntns, const struct inner *inner,
		 int *ret_socket, struct err *err);

/* A cold interpreter for a shell: forks into the shell's pid namespace and the v2 group
 * `cgroup` (or -1), waits for struct walls_go on `status`, puts the walls up, says HELLO and execs
 * python. Returns the pid. */
pid_t zygote_cold(struct walls_input *walls, int own_pidns, int cgroup, int status,
		  const char *python, struct err *err);
