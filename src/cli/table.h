// SPDX-License-Identifier: Apache-2.0
/*
 * Table - rows in columns, for people
 *
 * Owns:    its cells and the widths of its columns. Cells come from sandboxes: they are escaped.
 * May not: find anything out.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 12U
#define TABLE_CELL_MAX 64U /* bytes of a cell; the last column of a row takes more */

struct table {
	const char *const *titles; /* borrowed */
	size_t columns;
	char **cells; /* owned: rows one behind the other */
	size_t count, capacity;
};

/* `titles` ends with NULL. */
void table_init(struct table *table, const char *const *titles);
void table_done(struct table *table);

/* The next cell of the row; NULL and "" are "-". */
void table_add(struct table *table, const char *text);
void table_add_size(struct table *table, uint64_t bytes); /* "12.3 MiB"; 0 is "-" */
void table_add_count(struct table *table, uint64_t count);
void table_add_age(struct table *table, uint64_t since_ms, uint64_t now_ms); /* "4m" */

/* A value as JSON. */
void table_add_value(struct table *table, const json_t *value);

/* A member of an object: a text, or a number as it is. */
void table_add_member(struct table *table, const json_t *object, const char *name);

/* With `width` > 0 no line is longer than that. */
void table_print(const struct table *table, FILE *out, size_t width);
