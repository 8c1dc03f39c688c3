// SPDX-License-Identifier: Apache-2.0
/*
 * Json - writing JSON text, and checking JSON text from outside
 *
 * Owns:    escaping (ASCII only, so that no client can cut a character in two) and the strict check
 *          of JSON from a sandbox, which is then passed on as text and never parsed into a tree.
 * May not: build trees: jansson does that, for small documents of our own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define JSON_DEPTH_MAX 128
#define JSON_NUMBER_MAX 4096

/* Appends a quoted JSON string. Each byte that is not UTF-8 becomes U+FFFD. */
int json_put_string(struct buf *buf, const void *bytes, size_t size);
int json_put_text(struct buf *buf, const char *text);

/* Appends one character of a string as an escape. */
int json_put_point(struct buf *buf, uint32_t point);

/* Appends `joint` and a member's name with its colon. The name needs no escapes. Returns the buf's
 * `failed`. */
int json_put_name(struct buf *buf, const char *joint, const char *name);

/* Appends JSON by a template: ' stands for a quote, %s for a string (NULL: null), %.*s for a string
 * of given length, %i for true or false, and %d, %u, %zu, %llu, %.3f for numbers. Returns the buf's
 * `failed`, so that only the last of many calls needs a check. */
int json_put(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is this exactly one valid JSON value (RFC 8259, UTF-8, depth <= JSON_DEPTH_MAX)? Numbers longer
 * than JSON_NUMBER_MAX bytes are refused: common parsers fail on them, and then reject the whole
 * document. */
bool json_is_valid(const void *bytes, size_t size);

/* Finds the member `name` at the top level of a valid JSON object and returns the text of its
 * value; false: no such member. The first of two equal names wins. */
bool json_find(const void *bytes, size_t size, const char *name, const char **ret_value,
	       size_t *ret_size);

/* A member of an object, as text. Zero it before the first call of json_next or json_item. */
struct json_member {
	const char *name; /* with its quotes */
	size_t name_size;
	const char *value;
	size_t size; /* of the value */
	const char *next;
};

/* Moves to the next top-level member of a valid JSON object; false: there are no more. */
bool json_next(const void *bytes, size_t size, struct json_member *member);

/* Does the member's name decode to this? */
bool json_is_named(const struct json_member *member, const char *name);
bool json_is_spelled(const struct json_member *member, const char *name, size_t size);

/* Moves to the next item of a valid JSON list (items have no name); false: there are no more. */
bool json_item(const void *bytes, size_t size, struct json_member *item);

/* A JSON value as text, borrowed. */
struct span {
	const char *at;
	size_t size; /* 0: no value */
};

/* The value of an object's member, of any type; empty: no such member. */
struct span span_member(struct span object, const char *name);

/* Is the value this string (which needs no escapes)? */
bool span_is(struct span value, const char *text);
