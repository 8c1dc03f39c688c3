// SPDX-License-Identifier: Apache-2.0
/*
 * Inputs - what comes with the code of a run, by name and size, for whoever must allow it
 *
 * Owns:    the list [{"kind","name","size","text"}]. Arguments are shown whole: a door may send a
 *          script of its own whose argument is the code that matters. Of texts else the beginning.
 * May not: build trees of what a client sent, nor leave anything out in silence: what cannot be
 *          named one by one is told as a whole.
 */
#pragma once

#include "base/buf.h"
#include "session/run.h"

#define INPUTS_MAX (2U << 20)
#define INPUTS_ARGS_MAX (256U << 10) /* bytes of the arguments of a run that can be held */

/* Appends the list. -EMSGSIZE: it is too long to be shown. */
int inputs_put(const struct run_request *request, struct buf *buf);
