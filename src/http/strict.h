// SPDX-License-Identifier: Apache-2.0
/*
 * Strict - is this head one that every reader of it reads alike?
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
 * What this cannot tell from the CR LF CR LF at the end of a head are other four bytes of CR, LF,
 * NUL and colon that libmicrohttpd takes for it, nor a NUL from the CR of another line. A proxy
 * that passes such on passes on anything. Line ends inside a chunked body are libmicrohttpd's to
 * judge, and it is lax: so the connection ends with such a request (exchange.c).
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
	const char *target; /* where it stands in libmicrohttpd's buffer, cut up since */
	const char *text;   /* a copy from before that */
	size_t target_size;
	const char *version;
	size_t header_max;
};

/* 0, and the size of the body (-1: chunked); or the status to refuse it with, and why. */
unsigned strict_check(const struct strict_head *head, int64_t *ret_body_size, const char **ret_why);
