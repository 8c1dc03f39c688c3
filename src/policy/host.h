// SPDX-License-Identifier: Apache-2.0
/*
 * Host - how much memory this machine has
 *
 * Owns:    one number: what the machine has, or the container that this program is in.
 */
#pragma once

#include <stdint.h>

/* Bytes; UINT64_MAX when not known. */
uint64_t host_memory(void);
