// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *buf, size_t max)
{
	*buf = (struct buf){.max = max};
}

void buf_done(struct buf *buf)
{
	if (buf == NULL)
		return;
	free(buf->data);
	*buf = (struct buf){.max = buf->max};
}

/* Records a failure; the first one stays. */
static int fail(struct buf *buf, int r)
{
	if (buf->failed == 0)
		buf->failed = r;
	return r;
}

int buf_reserve(struct buf *buf, size_t extra)
{
	size_t capacity = buf->capacity > 0 ? buf->capacity : 256;
	uint8_t *data = NULL;

	if (extra > buf->max || buf->size > buf->max - extra)
		return fail(buf, -EMSGSIZE);
	if (buf->size + extra < buf->capacity)
		return 0;

	while (capacity <= buf->size + extra)
		capacity *= 2;
	data = realloc(buf->data, capacity);
	if (data == NULL)
		return fail(buf, -ENOMEM);

	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

int buf_append(struct buf *buf, const void *data, size_t size)
{
	int r = buf_reserve(buf, size);

	if (r < 0)
		return r;
	if (size > 0)
		memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	return 0;
}

int buf_text(struct buf *buf, const char *text)
{
	return buf_append(buf, text, strlen(text));
}

int buf_number(struct buf *buf, unsigned long long number)
{
	char digits[20]; /* of 2^64 - 1 */
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return buf_append(buf, digits + at, sizeof(digits) - at);
}

int buf_base64(struct buf *buf, const void *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *data = bytes;
	uint8_t *to = NULL;
	int r = buf_reserve(buf, (size + 2) / 3 * 4);

	if (r < 0)
		return r;
	to = buf->data + buf->size;
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t three = (uint32_t)data[i] << 16 |
				 (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				 (left > 2 ? data[i + 2] : 0);

		*to++ = (uint8_t)digits[three >> 18];
		*to++ = (uint8_t)digits[three >> 12 & 63];
		*to++ = left > 1 ? (uint8_t)digits[three >> 6 & 63] : '=';
		*to++ = left > 2 ? (uint8_t)digits[three & 63] : '=';
	}
	buf->size += (size + 2) / 3 * 4;
	return 0;
}

static int base64_digit(char byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return byte - 'A';
	if (byte >= 'a' && byte <= 'z')
		return byte - 'a' + 26;
	if (byte >= '0' && byte <= '9')
		return byte - '0' + 52;
	return byte == '+' ? 62 : byte == '/' ? 63 : -1;
}

int buf_unbase64(struct buf *buf, const char *text, size_t size, const char *skipped)
{
	uint32_t bits = 0;
	unsigned digits = 0, pads = 0; /* counts within the last group of four */
	int r = buf_reserve(buf, (size + 3) / 4 * 3);

	if (r < 0)
		return r;
	for (size_t i = 0; i < size; i++) {
		int digit = base64_digit(text[i]);

		if (digit >= 0 && pads == 0) {
			bits = bits << 6 | (uint32_t)digit;
			digits = digits % 4 + 1;
			if (digits > 1)
				buf->data[buf->size++] = (uint8_t)(bits >> (4 - digits) * 2);
		} else if (text[i] == '=') {
			pads++;
		} else if (text[i] == '\0' || strchr(skipped, text[i]) == NULL) {
			return fail(buf, -EINVAL);
		}
	}
	/* Unused bits of the last digit must be zero, so that each value has only one spelling. */
	if (pads > 2 || (digits + pads) % 4 != 0 || (bits & ((1U << pads * 2) - 1)) != 0)
		return fail(buf, -EINVAL);
	return 0;
}

int buf_format(struct buf *buf, const char *format, ...)
{
	va_list args;
	size_t room;
	int need;
	int r = buf_reserve(buf, 0);

	if (r < 0)
		return r;
	/* The text usually fits into the memory already there; then it is formatted only once. */
	room = buf->capacity - buf->size;
	va_start(args, format);
	need = vsnprintf((char *)buf->data + buf->size, room, format, args);
	va_end(args);
	if (need < 0)
		return fail(buf, -EINVAL);

	r = buf_reserve(buf, (size_t)need + 1);
	if (r < 0)
		return r;
	if ((size_t)need >= room) {
		va_start(args, format);
		(void)vsnprintf((char *)buf->data + buf->size, (size_t)need + 1, format, args);
		va_end(args);
	}
	buf->size += (size_t)need;
	return 0;
}

void buf_cut(struct buf *buf, size_t size)
{
	buf->size = size < buf->size ? size : buf->size;
	buf->failed = 0;
}

void buf_consume(struct buf *buf, size_t size)
{
	if (size >= buf->size) {
		buf->size = 0;
		return;
	}
	memmove(buf->data, buf->data + size, buf->size - size);
	buf->size -= size;
}

const char *buf_string(struct buf *buf)
{
	if (buf->data == NULL)
		return "";
	buf->data[buf->size] = '\0';
	return (const char *)buf->data;
}
