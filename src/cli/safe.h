// SPDX-License-Identifier: Apache-2.0
/*
 * Safe - texts from a sandbox on a person's terminal
 *
 * Owns:    escaping of names and values: a terminal would obey control characters, and some obey
 *          bytes that are not UTF-8; characters that are invisible or reverse the text around them
 *          would show another name than the real one. Also the shortest text of a number.
 * May not: touch a program's own output: see screen.h.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"

/* Appends text, escaped. */
void safe_put(struct buf *buf, const char *text, size_t size);

/* The same on a stream. */
void safe_print(FILE *out, const char *text);

#define SAFE_REAL_SIZE 32

/* The shortest text that reads back as this number, with a point or an exponent. */
void safe_real(char text[SAFE_REAL_SIZE], double number);

/* Appends a value as compact JSON, with numbers of full precision. The text is not escaped yet. */
void safe_put_value(struct buf *buf, const json_t *value);

/* Prints one object on stdout, for --json. */
void safe_print_json(const json_t *object);
