// SPDX-License-Identifier: Apache-2.0
/*
 * Fuzz - what a fuzz target is, and what it may claim
 *
 * Owns:    the one function that libFuzzer and replay.c call.
 * May not: be lenient: a claim that does not hold ends the process, in every build.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Not assert(): it must hold in a build without assertions, too. */
#define CLAIM(statement)                                                                           \
	do {                                                                                       \
		if (!(statement))                                                                  \
			abort();                                                                   \
	} while (0)
