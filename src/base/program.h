// SPDX-License-Identifier: Apache-2.0
/*
 * Program - where the other programs of this installation are
 *
 * Owns:    the order of the places that are looked at.
 * May not: start anything, or search PATH, where another program of the same name could be.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Finds the program: first beside the running one (a build tree), then where an installation has it
 * relative to the running one (so that it can be moved), then below the prefix. */
int program_find(const char *name, char *ret_path, size_t size, struct err *err)
	__attribute__((nonnull));
