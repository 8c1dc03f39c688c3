// SPDX-License-Identifier: Apache-2.0
#include "api/parts.h"

#include <errno.h>

#include <sys/mman.h>

#include "base/c.h"
#include "base/io.h"

void parts_init(struct parts *parts)
{
	*parts = (struct parts){.fd = -1};
	buf_init(&parts->memory, PARTS_MEMORY_MAX);
}

void parts_done(struct parts *parts)
{
	if (parts == NULL)
		return;
	if (parts->map != NULL)
		(void)munmap(parts->map, parts->size);
	parts->map = NULL;
	buf_done(&parts->memory);
	drop_fd(&parts->fd);
	parts->size = 0;
}

static int flush(struct parts *parts, struct err *err)
{
	int r = io_write_all(parts->fd, parts->memory.data, parts->memory.size, err);

	if (r < 0)
		return err_wrap(err, "keep the body");
	buf_consume(&parts->memory, parts->memory.size);
	return 0;
}

static int open_memfd(struct parts *parts, struct err *err)
{
	parts->fd = memfd_create("request", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (parts->fd < 0)
		return err_sys(err, "keep the body: memfd");
	return 0;
}

int parts_append(struct parts *parts, const void *data, size_t size, struct err *err)
{
	int r = 0;

	/* Escapes come a few bytes at a time: they are gathered, not written one by one. */
	if (size <= PARTS_MEMORY_MAX - parts->memory.size) {
		if (size > 0 && buf_append(&parts->memory, data, size) < 0)
			return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the body");
		parts->size += size;
		return 0;
	}

	if (parts->fd < 0)
		r = open_memfd(parts, err);
	if (r == 0)
		r = flush(parts, err);
	if (r == 0)
		r = io_write_all(parts->fd, data, size, err);
	if (r == 0)
		parts->size += size;
	return r;
}

int parts_finish(struct parts *parts, struct err *err)
{
	return parts->fd >= 0 ? flush(parts, err) : 0;
}

int parts_fd(struct parts *parts, int *ret_fd, struct err *err)
{
	int r = parts->fd < 0 ? open_memfd(parts, err) : 0;

	if (r == 0)
		r = flush(parts, err);
	if (r == 0)
		*ret_fd = parts->fd;
	return r;
}

/* Private: a shared mapping would keep the memfd from being sealed (man 2 fcntl, F_SEAL_WRITE). */
static int map_all(struct parts *parts, struct err *err)
{
	void *map;

	if (parts->map != NULL)
		return 0;
	map = mmap(NULL, parts->size, PROT_READ, MAP_PRIVATE, parts->fd, 0);
	if (map == MAP_FAILED)
		return err_sys(err, "map the body");
	parts->map = map;
	return 0;
}

int parts_bytes(struct parts *parts, uint64_t at, uint64_t size, bool in_memory,
		struct run_bytes *ret_bytes, struct err *err)
{
	struct run_bytes bytes = {.size = size, .fd = parts->fd, .at = at};

	if (size == 0) {
		bytes.data = "";
	} else if (parts->fd < 0) {
		bytes.data = parts->memory.data + at;
	} else if (in_memory) {
		int r = map_all(parts, err);

		if (r < 0)
			return r;
		bytes.data = (const char *)parts->map + at;
	}
	*ret_bytes = bytes;
	return 0;
}
