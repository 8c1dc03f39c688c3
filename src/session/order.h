// SPDX-License-Identifier: Apache-2.0
/*
 * Order - what a run asks of whoever does it elsewhere
 *
 * Owns:    the members of the JSON object that is sent, in a memfd: nothing large is built in
 *          memory.
 * May not: send what the other side cannot know (folders of this host), or leave out in silence
 *          what it cannot take.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct run_request;

struct order {
	int members;           /* owned; -1: none */
	uint64_t core_size;    /* of them: code and data, which every sidecar takes */
	uint64_t members_size; /* all of them, which a Vivarium takes */
	bool is_sidecar;       /* as a sidecar means it */
	const char *beyond;    /* static: a member that no sidecar takes; NULL: none */
	char *command, *folder, *cwd, *root; /* owned: of an explore; NULL: there is none */
};

/* Could somebody else do it at all? 0, or ERR_UNSUPPORTED and why not. */
int order_check(const struct run_request *request, struct err *err);

/* ERR_UNSUPPORTED: this run can only be done on this host, and why. */
int order_make(const struct run_request *request, struct order *ret_order, struct err *err);

/* Accepts a zeroed one with members -1. */
void order_done(struct order *order);
