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
	int failed; /* why something is missing: the first failure; 0: nothing is */
};

void buf_init(struct buf *buf, size_t max);
void buf_done(struct buf *buf);

/* Makes room for `extra` bytes behind `size`. -EMSGSIZE above the maximum, -ENOMEM. */
int buf_reserve(struct buf *buf, size_t extra);

/* Each returns 0, or -EMSGSIZE / -ENOMEM and appends nothing. A text of many pieces is written
 * without a look at each return value: `failed` tells afterwards whether it is whole. */
int buf_append(struct buf *buf, const void *data, size_t size);
int buf_text(struct buf *buf, const char *text);
int buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Keeps the first `size` bytes, and forgets what failed behind them. */
void buf_cut(struct buf *buf, size_t size);

/* Drops `size` bytes from the front. */
void buf_consume(struct buf *buf, size_t size);

/* The content as a C string (a NUL is kept behind it, not counted); "" when there is none. */
const char *buf_string(struct buf *buf);
