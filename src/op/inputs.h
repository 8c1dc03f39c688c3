// SPDX-License-Identifier: Apache-2.0
/*
 * Inputs - what comes with the code of a run, by name and size, for whoever must allow it
 *
 * Owns:    the list [{"kind","name","size"}]; no value stands in it.
 * May not: build trees of what a client sent, nor leave anything out in silence: what cannot be
 *          named one by one is told as a whole.
 */
#pragma once

#include "base/buf.h"
#include "session/run.h"

#define INPUTS_MAX (64U << 10)

/* Appends the list. -EMSGSIZE: it is too long to be shown. */
int inputs_put(const struct run_request *request, struct buf *buf);
