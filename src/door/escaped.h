// SPDX-License-Identifier: Apache-2.0
/*
 * Escaped - what stands between the quotes of a JSON string, used without decoding it
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

/* A member of an object, of any type. */
struct span span_member(struct span object, const char *name);

/* The inside of a JSON string; empty when `value` is no string. */
struct escaped escaped_of(const char *value, size_t size);

/* The member of an object, if it is there: its inside if it is a string, else empty. */
struct escaped escaped_member(const char *object, size_t size, const char *name);

/* How many bytes of `text` the character at its start takes, and how many UTF-8 bytes it stands
 * for (2 for each half of a pair). 0 at the end. */
size_t escaped_step(struct escaped text, uint32_t *ret_code, size_t *ret_utf8);

uint64_t escaped_utf8(struct escaped text); /* bytes it stands for */

/* Without white space at both ends, as Python's strip() and JavaScript's trim() see it. */
struct escaped escaped_trim(struct escaped text);

/* A text of ours that needs no escape. */
struct escaped escaped_plain(const char *text);

/* The first `count` characters (UTF-16 units, and no half of a pair). */
struct escaped escaped_cut(struct escaped text, size_t count);

/* The same with whole characters: a pair is one. `*count` is what is left of them afterwards. */
struct escaped escaped_cut_whole(struct escaped text, size_t *count);

/* Appends the texts as one JSON string of at most `count` whole characters. */
int escaped_put(struct buf *buf, const struct escaped *texts, size_t text_count, size_t count);

/* Appends what the text says, decoded. -EMSGSIZE, -ENOMEM. */
int escaped_decode(struct buf *buf, struct escaped text);

/* Up to and with the next line end; empty when there is none. */
struct escaped escaped_line(struct escaped text);

bool escaped_is(struct escaped text, const char *plain);
