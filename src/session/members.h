// SPDX-License-Identifier: Apache-2.0
/*
 * Members - the members of a JSON object that may be long, some bytes at a time
 *
 * Owns:    how far the object was read. Places are counted from the start of its text, which may
 *          lie elsewhere at the next call.
 * May not: check anything: the text is JSON that was checked when it came.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Starts zeroed. */
struct members {
	size_t at; /* how far it was read */
	size_t name_at, name_size;
	size_t value_at, size; /* of the value */
	unsigned depth;
	bool is_in_string, is_in_value, is_in_name, is_begun;
};

/* 1: the next member at the top level is there; 0: `budget`, in bytes, was used up before; -1:
 * there is none. */
int members_next(struct members *members, const void *bytes, size_t size, size_t *budget);

/* Is this, decoded, the name of the member that it stands at? */
bool members_is_named(const struct members *members, const void *bytes, const char *name);
