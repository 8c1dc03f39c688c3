// SPDX-License-Identifier: Apache-2.0
/*
 * Parts - where the large members of a request lie, one after the other
 *
 * Owns:    their bytes: in memory up to PARTS_MEMORY_MAX in total, then in a memfd that can be
 *          sealed and handed on. A part is an offset and a size, the same in both.
 * May not: know what a part means.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/run.h"

#define PARTS_MEMORY_MAX (64U << 10)

struct parts {
	struct buf memory; /* everything; once there is a memfd, what is not yet written to it */
	int fd;            /* owned; -1: all is in memory */
	uint64_t size;
	void *map; /* owned: the memfd, mapped once its bytes were wanted in memory */
};

void parts_init(struct parts *parts);
void parts_done(struct parts *parts);

/* Appends bytes. Work is proportional to `size`. */
int parts_append(struct parts *parts, const void *data, size_t size, struct err *err);

/* Ends the parts: nothing is appended any more. */
int parts_finish(struct parts *parts, struct err *err);

/* Everything as a memfd, borrowed, however little it is. Only after parts_finish. */
int parts_fd(struct parts *parts, int *ret_fd, struct err *err);

/* A part, borrowed from the parts. With `in_memory` its data can be read in place; else a part of a
 * memfd has data NULL. Only after parts_finish. */
int parts_bytes(struct parts *parts, uint64_t at, uint64_t size, bool in_memory,
		struct run_bytes *ret_bytes, struct err *err);
