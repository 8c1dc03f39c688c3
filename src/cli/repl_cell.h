// SPDX-License-Identifier: Apache-2.0
/*
 * Repl cell - where a piece of Python ends
 *
 * Owns:    the guess by brackets, quotes, colons and indents. Python itself is inside the sandbox.
 * May not: be relied on: a cell that was cut wrongly is a SyntaxError, no more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is this whole, when Enter is pressed behind it? A block ends with an empty line. */
bool repl_cell_is_whole(const char *text, size_t size);

/* Of a script: how many bytes from its start are the first cell, blank lines behind it included. */
size_t repl_cell_size(const char *text, size_t size);

bool repl_cell_is_blank(const char *text, size_t size);
