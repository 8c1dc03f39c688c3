// SPDX-License-Identifier: Apache-2.0
/*
 * Interview - what a Python interpreter says about itself, asked inside a sandbox
 *
 * Owns:    the question and the reading of the answer.
 * May not: run an interpreter outside a sandbox: what it imports may be as hostile as any code.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "cli/trial.h"
#include "policy/runtime.h"

/* Asks the runtime's interpreter for its version, to import `modules` (an array of names), and for
 * the packages it sees: {"version":"3.11.2","found":{name:version},"lacks":{name:why},
 * "packages":N}. The caller owns the answer. */
int interview(struct trial *trial, const struct runtime *runtime, const struct plan *plan,
	      json_t *modules, json_t **ret_said, struct err *err);
