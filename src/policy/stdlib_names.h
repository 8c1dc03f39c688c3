// SPDX-License-Identifier: Apache-2.0
/*
 * Stdlib names - the modules of Python's standard library
 *
 * Owns:    a sorted table, made by scripts/make-stdlib-names.
 */
#pragma once

#include <stddef.h>

extern const char *const stdlib_names[];
extern const size_t stdlib_name_count;
