// SPDX-License-Identifier: Apache-2.0
/*
 * Remote - the backend that has runs done by another Vivarium or a sidecar
 *
 * Owns:    the requests to it, what its /health said last, and the rules for when it fails.
 * May not: do a run twice: if it may have begun on the remote, a failure ends the run.
 */
#pragma once

#include "backend/backend.h"

struct remote;

/* Returns NULL and 0 when the config names no remote. */
int remote_new(uv_loop_t *loop, const struct config *config, struct remote **ret_remote,
	       struct err *err);

/* Ends its jobs without a call; the loop frees the memory. Accepts NULL. */
void remote_free(struct remote *remote);

/* Checks /health now and then every few seconds; `changed` is called when the remote becomes
 * reachable (ERR_NONE) or unreachable. */
void remote_watch(struct remote *remote, void (*changed)(void *user, const struct err *why),
		  void *user);

/* Checks /health once and runs the loop until the answer. For programs that do one thing. */
void remote_ask(struct remote *remote);

/* 0 while the remote is reachable or not yet known; else why not. Never names its address. */
int remote_why(const struct remote *remote, struct err *err);

/* The word of backends.remote.kind, or "" while the kind is not known. */
const char *remote_kind(const struct remote *remote);
