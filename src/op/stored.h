// SPDX-License-Identifier: Apache-2.0
/*
 * Stored - bytes that we keep, on their way in and out
 *
 * Owns:    an open file while it is sent, in pieces, between two short texts; and the view of a
 *          request's large bytes, wherever they lie.
 * May not: hold more of a file in memory than one piece: there may be as many readers as
 *          connections.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "op/op.h"

/* Answers with `head`, `size` bytes of the file and `tail` (a constant), as JSON from which no
 * browser runs anything. Consumes head and descriptor. */
void stored_answer(struct op_call *call, struct buf *take_head, int *take_fd, uint64_t size,
		   const char *tail);

/* Bytes of a request that can be read in place; `max` bytes at most, else ERR_TOO_LARGE. */
struct stored_view {
	const void *data; /* borrowed: from the call, or from the map */
	size_t size;
	void *map; /* owned; NULL: none was needed */
	size_t map_size;
};

int stored_open(const struct run_bytes *bytes, uint64_t max, struct stored_view *ret_view,
		struct err *err);
void stored_close(struct stored_view *view);
