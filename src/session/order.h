// SPDX-License-Identifier: Apache-2.0
/*
 * Order - the request for a run that is done elsewhere
 *
 * Owns:    the members of the JSON object that is sent, in a memfd: nothing large is built in
 *          memory.
 * May not: send what the other side cannot know (folders of this host), or silently leave out what
 *          it cannot take.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct run_request;

struct order {
	int members;           /* owned; -1: none */
	uint64_t core_size;    /* bytes of code and data, which every sidecar takes */
	uint64_t members_size; /* bytes of all members, which a Vivarium takes */
	bool is_sidecar;       /* the request has a sidecar's meaning */
	const char *beyond;    /* static: a member that no sidecar takes; NULL: none */
	char *command, *folder, *cwd, *root; /* owned, for an explore; else NULL */
};

/* Can this run be done elsewhere at all? Returns 0, or ERR_UNSUPPORTED with the reason. */
int order_check(const struct run_request *request, struct err *err);

/* Makes the order. ERR_UNSUPPORTED: this run can only be done on this host; the message says
 * why. */
int order_make(const struct run_request *request, struct order *ret_order, struct err *err);

/* Accepts a zeroed order whose `members` is -1. */
void order_done(struct order *order);
