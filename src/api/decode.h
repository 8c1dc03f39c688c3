// SPDX-License-Identifier: Apache-2.0
/*
 * Decode - turns a request's path, query and body into an op's own arguments, by its rows
 *
 * Owns:    the checks of types, ranges, choices and required fields; and the arguments with all
 *          that they point to.
 * May not: know an op, or decide by anything but its rows.
 *
 * Every message starts with the name of the field and a colon. A null is the same as not given,
 * unless the row takes null.
 */
#pragma once

#include <stddef.h>

#include "api/scan.h"
#include "base/err.h"
#include "op/op.h"

/* A variable of the path or a parameter of the query, percent-decoded. */
struct decode_pair {
	const char *name;
	const char *value;
};

struct decode_source {
	const struct decode_pair *path;
	size_t path_count;
	const struct decode_pair *query;
	size_t query_count;
	struct scan *scan; /* finished; NULL: no JSON body. Parts are borrowed from it */
};

struct decode_chunk;

struct decoded {
	void *args;                  /* owned: op->args_size bytes */
	struct decode_chunk *chunks; /* owned: texts and lists that args points to */
};

/* Fills ret_decoded, which borrows the parts of the scan. ERR_BAD_REQUEST names the field. */
int decode_args(const struct op *op, const struct decode_source *source,
		struct decoded *ret_decoded, struct err *err);
void decoded_done(struct decoded *decoded);

/* Percent-decodes `size` bytes into `ret_text`, which has room for size + 1. -EINVAL: a broken
 * escape, a NUL, or not UTF-8. */
int decode_percent(const char *text, size_t size, char *ret_text);
