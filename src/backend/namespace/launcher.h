// SPDX-License-Identifier: Apache-2.0
/*
 * Launcher - viv's end of the wire to viv-launch
 *
 * Owns:    the process viv-launch, the socket to it, and the queue of requests it has not taken
 * yet. May not: know what a run is, or keep a descriptor it was handed beyond its sending.
 *
 * Two ways: a viv-launch of one's own (launcher_open), which ends every sandbox and then itself
 * when the socket closes; and one that stays (launcher_connect), which keeps what it was told to
 * keep for the next viv.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "backend/backend.h"
#include "base/err.h"
#include "proto/launch_msg.h"

struct launcher;

struct launcher_calls {
	/* Every event but HELLO, in the order of arrival. Descriptors that came along and are not
	 * taken (set to -1) are closed afterwards. */
	void (*event)(void *user, const struct launch_event *event, int *take_fds, size_t fd_count);

	/* HELLO has arrived. */
	void (*hello)(void *user, const struct launch_hello *hello);

	/* viv-launch is gone or talks nonsense; nothing comes after this. */
	void (*lost)(void *user, const struct err *why);
};

/* Finds and starts viv-launch: beside this program, then where the build or `make install` put it.
 * Its HELLO comes through the loop. `calls` is copied, `user` borrowed until launcher_close. */
int launcher_open(uv_loop_t *loop, const struct launcher_calls *calls, void *user,
		  struct launcher **ret_launcher, struct err *err);

/* Connects to the one that stays; where nobody answers, starts one, in a session of its own. Takes
 * stay->connected. */
int launcher_connect(uv_loop_t *loop, const struct backend_stay *stay,
		     const struct launcher_calls *calls, void *user, struct launcher **ret_launcher,
		     struct err *err);

/* The same as launcher_open over a socket somebody else made (tests). Consumes the socket. */
int launcher_attach(uv_loop_t *loop, int *take_socket, const struct launcher_calls *calls,
		    void *user, struct launcher **ret_launcher, struct err *err);

/* Closes the wire: launch ends everything it holds. No call comes after this. The memory is given
 * back by the loop. Accepts NULL. */
void launcher_close(struct launcher *launcher);

/* What this host gives; NULL before HELLO. */
const struct launch_hello *launcher_hello(const struct launcher *launcher);

/* Pid of viv-launch's outer half; 0 when attached. */
pid_t launcher_pid(const struct launcher *launcher);

/* Sends a request with descriptors (still the caller's afterwards); queues it when the socket is
 * full. -EPIPE when launch is gone. */
int launcher_send(struct launcher *launcher, const struct launch_request *request, const int *fds,
		  size_t fd_count, struct err *err);
