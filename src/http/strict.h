// SPDX-License-Identifier: Apache-2.0
/*
 * Strict - does every reader understand this head in the same way?
 *
 * Owns:    the rules on which a proxy in front of us and libmicrohttpd must not differ: where lines
 *          end, how long a body is, which host is meant (RFC 9112: 2.2, 3.2, 5, 6.3, 11.2).
 * May not: know what a target means.
 *
 * libmicrohttpd 0.9 takes two lengths, a length beside chunks, lines that end in a bare LF, and
 * folded ones. It cuts its lines in place, with a NUL for each byte of a line's end, so the head is
 * walked once more in its buffer: each part must begin exactly where two NULs behind the part
 * before it end.
 *
 * This check has limits: libmicrohttpd takes other groups of four bytes of CR, LF, NUL and colon
 * for the CR LF CR LF at the end of a head, and a NUL for the CR of another line; neither can be
 * told apart here. A proxy that forwards such bytes forwards anything. Line ends inside a chunked
 * body are checked by libmicrohttpd, and it is lax: so the connection ends with such a request
 * (exchange.c).
 */
#pragma once

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

#define STRICT_HOST "a request has exactly one Host header"
#define STRICT_LENGTH "Content-Length is a number"

struct strict_head {
	struct MHD_Connection *mhd;
	const char *method;
	const char *target; /* the target in libmicrohttpd's buffer, which has been cut up since */
	const char *text;   /* a copy from before that */
	size_t target_size;
	const char *version;
	size_t header_max;
};

/* Returns 0 and the size of the body (-1: chunked); or the status to refuse it with, and why. */
unsigned strict_check(const struct strict_head *head, int64_t *ret_body_size, const char **ret_why);
