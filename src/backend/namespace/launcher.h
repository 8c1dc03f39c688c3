// SPDX-License-Identifier: Apache-2.0
/*
 * Launcher - viv's end of the wire to viv-launch
 *
 * Owns:    the process viv-launch, the socket to it, and the queue of requests it has not taken
 * yet. May not: know what a run is, or keep a descriptor it was handed beyond its sending.
 *
 * Two ways: a private viv-launch (launcher_open), which ends every sandbox and then itself when the
 * socket closes; and a staying one (launcher_connect), which keeps sandboxes for the next viv on
 * request.
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
	/* Every event but HELLO, in order of arrival. Descriptors that came with it and are not
	 * taken (set to -1) are closed afterwards. */
	void (*event)(void *user, const struct launch_event *event, int *take_fds, size_t fd_count);

	/* HELLO has arrived. */
	void (*hello)(void *user, const struct launch_hello *hello);

	/* viv-launch has ended or broke the protocol; no call comes after this. */
	void (*lost)(void *user, const struct err *why);
};

/* Finds and starts viv-launch: beside this program, then where the build or `make install` put it.
 * Its HELLO comes through the loop. `calls` is copied, `user` borrowed until launcher_close. */
int launcher_open(uv_loop_t *loop, const struct launcher_calls *calls, void *user,
		  struct launcher **ret_launcher, struct err *err);

/* Connects to the staying launch; if none answers, starts one, in a session of its own. Takes
 * stay->connected. */
int launcher_connect(uv_loop_t *loop, const struct backend_stay *stay,
		     const struct launcher_calls *calls, void *user, struct launcher **ret_launcher,
		     struct err *err);

/* Like launcher_open over an existing socket (tests). Consumes the socket. */
int launcher_attach(uv_loop_t *loop, int *take_socket, const struct launcher_calls *calls,
		    void *user, struct launcher **ret_launcher, struct err *err);

/* Closes the socket: launch ends everything it holds. No call comes after this. The loop frees the
 * memory. Accepts NULL. */
void launcher_close(struct launcher *launcher);

/* Pid of viv-launch's outer half; 0 when attached. */
pid_t launcher_pid(const struct launcher *launcher);

/* Sends a request with descriptors (still the caller's afterwards); queues it when the socket is
 * full. -EPIPE when launch has ended. */
int launcher_send(struct launcher *launcher, const struct launch_request *request, const int *fds,
		  size_t fd_count, struct err *err);
