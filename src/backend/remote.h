// SPDX-License-Identifier: Apache-2.0
/*
 * Remote - the backend that has runs done by another Vivarium or an Atlas-compatible sidecar
 *
 * Owns:    the requests to it, what its /health said last, and the rules for when it fails.
 * May not: do a run twice: where something may have begun over there, a failure is the run's end.
 */
#pragma once

#include "backend/backend.h"

struct remote;

/* NULL and 0 when the config names none. */
int remote_new(uv_loop_t *loop, const struct config *config, struct remote **ret_remote,
	       struct err *err);

/* Ends its jobs without a call; the loop gives the memory back. Accepts NULL. */
void remote_free(struct remote *remote);

/* Asks its /health now and from then on every few seconds; `changed` is told when it comes or
 * goes, with ERR_NONE for the first. */
void remote_watch(struct remote *remote, void (*changed)(void *user, const struct err *why),
		  void *user);

/* Asks once and runs the loop until it has answered. For programs that do one thing. */
void remote_ask(struct remote *remote);

/* 0 while it is there or nobody knows; else why not. Never names its address. */
int remote_why(const struct remote *remote, struct err *err);

/* "vivarium", "atlas", or "" as long as that is not known. */
const char *remote_kind(const struct remote *remote);
