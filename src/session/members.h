// SPDX-License-Identifier: Apache-2.0
/*
 * Members - an iterator over the members of a long JSON object, some bytes at a time
 *
 * Owns:    the position in the object. Offsets are counted from the start of its text, which may be
 *          at another address in the next call.
 * May not: check anything: the text is JSON that was checked when it arrived.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Starts zeroed. */
struct members {
	size_t at; /* bytes read so far */
	size_t name_at, name_size;
	size_t value_at, size; /* of the value */
	unsigned depth;
	bool is_in_string, is_in_value, is_in_name, is_begun;
};

/* Steps to the next top-level member. 1: found; 0: `budget` (bytes) was used up first; -1: there is
 * none. */
int members_next(struct members *members, const void *bytes, size_t size, size_t *budget);

/* Is `name`, decoded, the name of the current member? */
bool members_is_named(const struct members *members, const void *bytes, const char *name);
