// SPDX-License-Identifier: Apache-2.0
/*
 * Imports - which modules a piece of Python names, found without Python
 *
 * Owns:    a scan over hostile bytes that never reads outside them and takes linear time.
 * May not: decide anything about safety: it picks a warm interpreter, the guard is elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Called with each top-level name ("matplotlib" of "matplotlib.pyplot"), including repeats. The
 * name is borrowed from the code and not NUL-terminated. */
typedef void import_found(void *context, const char *name, size_t size);

/* Finds `import a.b as c, d`, `from x.y import z` at the start of any statement, __import__("x")
 * and import_module("x"). Relative imports name nothing. Strings and comments are skipped. */
void imports_scan(const void *code, size_t size, import_found *found, void *context);

/* Is this a module of the standard library? (scripts/make-stdlib-names makes the table.) */
bool import_is_stdlib(const char *name, size_t size);
