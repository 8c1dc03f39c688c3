// SPDX-License-Identifier: Apache-2.0
/*
 * Escaped - the text between the quotes of a JSON string, used without decoding it
 *
 * Owns:    finding it, its characters, lines, white space and size. Our own events and results are
 *          ASCII, so a door can cut and join their texts as they are.
 * May not: see anything but valid JSON text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "session/result.h"

struct escaped {
	const char *text; /* borrowed, not terminated */
	size_t size;
};

/* The inside of a JSON string; empty if `value` is not a string. */
struct escaped escaped_of(struct span value);

/* The inside of an object's member; empty if it is missing or not a string. */
struct escaped escaped_member(struct span object, const char *name);

uint64_t escaped_utf8(struct escaped text); /* bytes when decoded */

/* Without white space at both ends, as Python's strip() and JavaScript's trim() see it. */
struct escaped escaped_trim(struct escaped text);

/* A text of ours that needs no escape. */
struct escaped escaped_plain(const char *text);

/* The first `count` UTF-16 units, without half a surrogate pair at the end. */
struct escaped escaped_cut(struct escaped text, size_t count);

/* The same with whole characters: a surrogate pair counts as one. Subtracts them from `*count`. */
struct escaped escaped_cut_whole(struct escaped text, size_t *count);

/* Appends the texts as one JSON string of at most `count` whole characters. */
int escaped_put(struct buf *buf, const struct escaped *texts, size_t text_count, size_t count);

/* Appends the text, decoded. -EMSGSIZE, -ENOMEM. */
int escaped_decode(struct buf *buf, struct escaped text);

/* The first line, with its line end; empty if there is no line end. */
struct escaped escaped_line(struct escaped text);

bool escaped_is(struct escaped text, const char *plain);
