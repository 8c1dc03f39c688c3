// SPDX-License-Identifier: Apache-2.0
/*
 * Safe - words from a sandbox on a person's terminal
 *
 * Owns:    escaping: a control character in a name or a value would speak to the terminal. So would
 *          a byte that is no UTF-8, to some.
 * May not: touch a program's own output: see screen.h.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"

void safe_put(struct buf *buf, const char *text, size_t size);

/* The same on a stream. */
void safe_print(FILE *out, const char *text);

/* One object on stdout, for --json. */
void safe_print_json(const json_t *object);
