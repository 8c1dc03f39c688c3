// SPDX-License-Identifier: Apache-2.0
/*
 * Safe - words from a sandbox on a person's terminal
 *
 * Owns:    escaping: a control character in a name or a value would speak to the terminal. So would
 *          a byte that is no UTF-8, to some; and a character that cannot be seen, or that turns the
 *          text around it, would show a person another name than there is. And the shortest text
 *          that reads back as the same number.
 * May not: touch a program's own output: see screen.h.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"

void safe_put(struct buf *buf, const char *text, size_t size);

/* The same on a stream. */
void safe_print(FILE *out, const char *text);

#define SAFE_REAL_SIZE 32

/* The shortest text that reads back as this number, with a point or an exponent. */
void safe_real(char text[SAFE_REAL_SIZE], double number);

/* Appends a value as compact JSON, its numbers as they are. It is not made safe yet. */
void safe_put_value(struct buf *buf, const json_t *value);

/* One object on stdout, for --json. */
void safe_print_json(const json_t *object);
