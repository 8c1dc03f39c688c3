// SPDX-License-Identifier: Apache-2.0
/*
 * Near - which known name a mistyped one is closest to
 *
 * Owns:    the distance between two names.
 * May not: decide how near is near enough: that is the caller's.
 */
#pragma once

#include <stddef.h>

#define NEAR_NAME_MAX 64U /* bytes of a name; longer ones are not near anything */

/* How many letters must change to turn `a` into `b` (Levenshtein); SIZE_MAX for a long name. */
size_t near_distance(const char *a, const char *b);
