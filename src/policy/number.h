// SPDX-License-Identifier: Apache-2.0
/*
 * Number - sizes, times and cpus as people write them
 *
 * Owns:    the text forms: sizes "512MiB", "512M", "1g", "4096"; times "30s", "1500ms", "2m", "1h";
 *          cpus "0.5"; plain counts. No sign, no space, nothing after it.
 * May not: guess: a time without a unit is refused, not taken for seconds or milliseconds.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum number_type {
	NUMBER_BYTES,
	NUMBER_COUNT,
	NUMBER_MS,
	NUMBER_CPUS, /* thousandths */
};

/* -EINVAL for anything but exactly one number, -ERANGE above 2^63 - 1. */
int number_parse(enum number_type type, const char *text, uint64_t *ret_number);

/* The shortest exact text: "512MiB", "1536KiB", "30s", "0.5". number_parse takes it. */
void number_format(enum number_type type, uint64_t number, char *ret_text, size_t size);
