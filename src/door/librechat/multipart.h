// SPDX-License-Identifier: Apache-2.0
/*
 * Multipart - the parts of a multipart/form-data body that is in memory (RFC 7578)
 *
 * Owns:    where each part's name, file name and bytes are; nothing is copied.
 * May not: know what the parts are for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MULTIPART_BOUNDARY_MAX 70

struct multipart {
	const char *at, *end;                  /* borrowed: what is left of the body */
	char mark[MULTIPART_BOUNDARY_MAX + 5]; /* CR LF -- boundary */
	size_t mark_size;
};

struct multipart_text {
	const char *text; /* borrowed; NULL: not given */
	size_t size;
};

struct multipart_part {
	struct multipart_text name, filename, bytes;
};

/* False: `type` (the Content-Type; may be NULL) is not multipart/form-data, or the body does not
 * begin with its boundary. */
bool multipart_open(struct multipart *parts, const char *type, const void *body, size_t size);

/* The next part: returns 1, 0 after the last, -1 if the body is cut off or broken. */
int multipart_next(struct multipart *parts, struct multipart_part *ret_part);
