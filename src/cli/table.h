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
	char **cells; /* owned: row after row */
	size_t count, capacity;
};

/* `titles` is NULL-terminated. */
void table_init(struct table *table, const char *const *titles);
void table_done(struct table *table);

/* Adds the next cell of the row; NULL and "" become "-". */
void table_add(struct table *table, const char *text);

/* Adds a value as JSON. */
void table_add_value(struct table *table, const json_t *value);

/* How a member of an object is shown. */
enum column_kind {
	COLUMN_TEXT, /* a text; any other value as JSON */
	COLUMN_SIZE, /* a number of bytes */
	COLUMN_AGE,  /* the time since a wall clock time in ms */
	COLUMN_MS,
	COLUMN_LINE, /* the first line of a text, with "..." if there are more */
};

struct column {
	const char *title;
	const char *member;    /* "a" or "a.b" */
	const char *otherwise; /* the member to show where `member` is null; NULL: none */
	enum column_kind kind;
};

/* Prints an array of objects, with a column for each of `columns`, which end at a row without a
 * title. */
void table_print_rows(const struct column *columns, const json_t *rows, size_t width, FILE *out);

/* With `width` > 0 no line is longer than that. */
void table_print(const struct table *table, FILE *out, size_t width);
