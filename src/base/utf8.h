// SPDX-License-Identifier: Apache-2.0
/*
 * Utf8 - characters in bytes
 *
 * Owns:    the strict rules of RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF.
 * May not: decide what becomes of bytes that are not UTF-8: the caller does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of a character that starts with this byte; 0: no character starts with it. */
static inline size_t utf8_size(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Is this a continuation byte? */
static inline bool utf8_is_inside(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* May `byte` be the continuation byte number `at` (from 1) of a character that starts with
 * `first`? */
static inline bool utf8_goes_on(uint8_t first, size_t at, uint8_t byte)
{
	uint8_t low = at > 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	uint8_t high = at > 1 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

	return byte >= low && byte <= high;
}

/* Decodes the character at the start and returns its length; 0: it is invalid or incomplete. */
static inline size_t utf8_decode(const void *bytes, size_t size, uint32_t *ret_point)
{
	const uint8_t *p = bytes;
	size_t n = size > 0 ? utf8_size(p[0]) : 0;
	uint32_t point;

	if (n == 0 || size < n)
		return 0;
	point = n == 1 ? p[0] : p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if (!utf8_goes_on(p[0], i, p[i]))
			return 0;
		point = point << 6 | (p[i] & 0x3fU);
	}
	*ret_point = point;
	return n;
}

/* Encodes a character and returns its length. A surrogate is encoded like any other number. */
static inline size_t utf8_encode(uint32_t point, uint8_t ret_bytes[4])
{
	size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--) {
		ret_bytes[i] = (uint8_t)(0x80 | (point & 0x3f));
		point >>= 6;
	}
	ret_bytes[0] = (uint8_t)(n == 1 ? point : (0xf00U >> n) | point);
	return n;
}

static inline bool utf8_is_valid(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	size_t n = 0;

	for (size_t i = 0; i < size; i += n) {
		uint32_t point;

		n = utf8_decode(p + i, size - i, &point);
		if (n == 0)
			return false;
	}
	return true;
}

/* The number of characters that start in these bytes. */
static inline size_t utf8_count(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += !utf8_is_inside(p[i]);
	return count;
}

/* Returns `size`, or less where that would split a character. Reads the byte at `size`, too. */
static inline size_t utf8_cut(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	while (size > 0 && utf8_is_inside(p[size]))
		size--;
	return size;
}
