// SPDX-License-Identifier: Apache-2.0
/*
 * Buf - growing bytes with a maximum
 *
 * Owns:    its memory; never more than `max` bytes of it.
 * May not: hold bytes from outside without a maximum that fits their source.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data; /* owned */
	size_t size;
	size_t capacity;
	size_t max;
	int failed; /* negative errno of the first append that failed; 0: none did */
};

void buf_init(struct buf *buf, size_t max);
void buf_done(struct buf *buf);

/* Frees the buf at the end of its scope: AUTO_BUF struct buf text = {.max = TEXT_MAX}; */
#define AUTO_BUF __attribute__((cleanup(buf_done)))

/* Makes room for `extra` bytes after `size`. Fails with -EMSGSIZE above the maximum, or -ENOMEM. */
int buf_reserve(struct buf *buf, size_t extra);

/* Each returns 0, or -EMSGSIZE / -ENOMEM and appends nothing. A caller that appends many pieces may
 * ignore the return values and check `failed` once at the end. */
int buf_append(struct buf *buf, const void *data, size_t size);
int buf_text(struct buf *buf, const char *text);
int buf_number(struct buf *buf, unsigned long long number);
int buf_base64(struct buf *buf, const void *bytes, size_t size);
int buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Decodes base64 (RFC 4648, section 4, padded) and appends the bytes; characters in `skipped` are
 * ignored. -EINVAL: the text is not base64; the bytes before the first wrong character were
 * appended. */
int buf_unbase64(struct buf *buf, const char *text, size_t size, const char *skipped);

/* Keeps the first `size` bytes and clears `failed`. */
void buf_cut(struct buf *buf, size_t size);

/* Drops `size` bytes from the front. */
void buf_consume(struct buf *buf, size_t size);

/* The content as a NUL-terminated string (the NUL is not counted in `size`); "" when empty. */
const char *buf_string(struct buf *buf);
