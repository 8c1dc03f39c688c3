// SPDX-License-Identifier: Apache-2.0
/*
 * Near - which known name a mistyped one is closest to
 *
 * Owns:    the distance between two names.
 * May not: decide how near is near enough: the caller does.
 */
#pragma once

#include <stddef.h>

#define NEAR_NAME_MAX 64U /* bytes; longer names match nothing */

/* The Levenshtein distance from `a` to `b`; SIZE_MAX when a name is too long. */
size_t near_distance(const char *a, const char *b);
