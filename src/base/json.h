// SPDX-License-Identifier: Apache-2.0
/*
 * Json - writing JSON text, and checking JSON text that somebody else wrote
 *
 * Owns:    escaping (ASCII only, so that no client can cut a character in two) and the strict check
 *          of what a sandbox sends, which is then passed through as text and never built as a tree.
 * May not: parse: that is jansson's, for what is small and ours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define JSON_DEPTH_MAX 128

/* Appends a quoted JSON string. Bytes that are not UTF-8 become U+FFFD, one for each. */
int json_put_string(struct buf *buf, const void *bytes, size_t size);
int json_put_text(struct buf *buf, const char *text);

/* Is this exactly one valid JSON value (RFC 8259, UTF-8, depth <= JSON_DEPTH_MAX)? */
bool json_is_valid(const void *bytes, size_t size);

/* For a valid JSON object: finds the member `name` at its top level and returns the text of its
 * value; false when there is none. The first one wins. */
bool json_find(const void *bytes, size_t size, const char *name, const char **ret_value,
	       size_t *ret_size);

/* A member of an object, as text. Starts zeroed. */
struct json_member {
	const char *name; /* with its quotes */
	size_t name_size;
	const char *value;
	size_t size; /* of the value */
	const char *next;
};

/* For a valid JSON object: goes on to its next member at the top level; false: there is none. */
bool json_next(const void *bytes, size_t size, struct json_member *member);

/* Is this, decoded, its name? */
bool json_is_named(const struct json_member *member, const char *name);
