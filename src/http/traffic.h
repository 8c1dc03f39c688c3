// SPDX-License-Identifier: Apache-2.0
/*
 * Traffic - what the kernel has counted on a TCP connection
 *
 * Owns:    the kernel's own struct tcp_info; the C library's, which libuv brings, is shorter.
 * May not: be asked for every request: it is a system call.
 */
#pragma once

#include <stdint.h>

struct traffic {
	uint64_t received; /* bytes */
	uint64_t sent;
};

/* Zeros where the kernel has no figures, as for a unix socket. */
struct traffic traffic_of(int fd);
