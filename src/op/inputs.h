// SPDX-License-Identifier: Apache-2.0
/*
 * Inputs - what comes with the code of a held run, for the person who must allow it
 *
 * Owns:    the list [{"kind","name","size","text"}]. Arguments are shown in full, since a door may
 *          send a script of its own whose argument is the code that matters. Other texts are cut.
 * May not: parse what a client sent into trees, or omit anything silently: inputs that cannot be
 *          listed one by one are listed as a whole.
 */
#pragma once

#include "base/buf.h"
#include "session/run.h"

#define INPUTS_MAX (2U << 20)
#define INPUTS_ARGS_MAX (256U << 10) /* bytes of the arguments of a run that can be held */

/* Appends the list. -EMSGSIZE: it is too long to be shown. */
int inputs_put(const struct run_request *request, struct buf *buf);
