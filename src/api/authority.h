// SPDX-License-Identifier: Apache-2.0
/*
 * Authority - the host and port of a Host header or of an Origin, read strictly
 *
 * Owns:    what counts as a host, and when two of them are the same.
 * May not: know which of them is allowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUTHORITY_NAME_MAX 253 /* RFC 1035 */

/* host or host:port, as in Host and after "https://" in Origin. */
struct authority {
	char name[AUTHORITY_NAME_MAX + 1]; /* lower case, no final dot; "" for an address */
	int family;                        /* AF_INET, AF_INET6; 0: a name */
	uint8_t address[16];
	uint32_t port; /* 0: none given */
};

/* False if the text is neither a name nor an address, with or without :PORT. */
bool authority_parse(const char *text, struct authority *ret_authority);

/* Parses "http://HOST[:PORT]" or "https://...", with nothing after it. The port is always set, from
 * the scheme if the text has none. False for anything else, also for "null": every sandboxed frame
 * and local file sends that. */
bool authority_parse_origin(const char *text, struct authority *ret_authority, bool *ret_is_https);

/* Parses an IPv6 address without its brackets. */
bool authority_parse_v6(const char *text, size_t size, struct authority *ret_authority);

/* The same name or address, whatever the port. */
bool authority_is_same_host(const struct authority *a, const struct authority *b);

bool authority_is_loopback(const struct authority *authority);
bool authority_is_any(const struct authority *authority); /* 0.0.0.0, :: */
