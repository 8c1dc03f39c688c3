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

/* Keeps the first reason. */
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

int buf_format(struct buf *buf, const char *format, ...)
{
	va_list args;
	size_t room;
	int need;
	int r = buf_reserve(buf, 0);

	if (r < 0)
		return r;
	/* Mostly what is there will do, and nothing is formatted twice. */
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
