// SPDX-License-Identifier: Apache-2.0
/*
 * Repl cell - where a piece of Python ends
 *
 * Owns:    the guess by brackets, quotes, colons and indents. Python itself is inside the sandbox.
 * May not: be relied on: a wrong guess costs a SyntaxError, no more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* True if Enter after this text ends the cell. A block ends with an empty line. */
bool repl_cell_is_whole(const char *text, size_t size);

/* The size of a script's first statement in bytes, with the comments and blank lines around it. */
size_t repl_cell_size(const char *text, size_t size);

bool repl_cell_is_blank(const char *text, size_t size);
