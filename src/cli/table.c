// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "base/utf8.h"
#include "cli/safe.h"

#define GAP 2U
#define LAST_MAX 400U           /* bytes of a last cell */
#define VALUE_MAX (512UL << 20) /* of an answer, see client.c */

void table_init(struct table *table, const char *const *titles)
{
	*table = (struct table){.titles = titles};
	while (table->columns < TABLE_COLUMNS_MAX && titles[table->columns] != NULL)
		table->columns++;
}

void table_done(struct table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){0};
}

/* The size of the text, cut to at most `max` bytes and whole characters. */
static size_t cut(const char *text, size_t max)
{
	size_t size = strlen(text);

	return size <= max ? size : utf8_cut(text, max);
}

void table_add(struct table *table, const char *text)
{
	bool is_last = table->columns > 0 && table->count % table->columns == table->columns - 1;
	struct buf cell;

	if (table->count == table->capacity) {
		table->capacity = table->capacity > 0 ? 2 * table->capacity : 64;
		table->cells = reallocarray(table->cells, table->capacity, sizeof(char *));
		if (table->cells == NULL)
			abort();
	}
	if (text == NULL || text[0] == '\0')
		text = "-";
	buf_init(&cell, 4UL * LAST_MAX + 8);
	safe_put(&cell, text, cut(text, is_last ? LAST_MAX : TABLE_CELL_MAX));
	table->cells[table->count++] = xstrdup(buf_string(&cell));
	buf_done(&cell);
}

/* "12.3 MiB"; 0 is "-". */
static void add_size(struct table *table, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double number = (double)bytes;
	size_t unit = 0;
	char text[32];

	while (number >= 1024 && unit + 1 < ARRAY_LEN(units)) {
		number /= 1024;
		unit++;
	}
	(void)snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", number, units[unit]);
	table_add(table, bytes > 0 ? text : NULL);
}

/* "4m". */
static void add_age(struct table *table, uint64_t since_ms, uint64_t now_ms)
{
	uint64_t seconds = now_ms > since_ms ? (now_ms - since_ms) / 1000 : 0;
	char text[32];

	if (seconds < 120)
		(void)snprintf(text, sizeof(text), "%" PRIu64 "s", seconds);
	else if (seconds < 7200)
		(void)snprintf(text, sizeof(text), "%" PRIu64 "m", seconds / 60);
	else if (seconds < 2UL * 86400)
		(void)snprintf(text, sizeof(text), "%" PRIu64 "h", seconds / 3600);
	else
		(void)snprintf(text, sizeof(text), "%" PRIu64 "d", seconds / 86400);
	table_add(table, since_ms > 0 ? text : NULL);
}

void table_add_value(struct table *table, const json_t *value)
{
	struct buf text;

	buf_init(&text, VALUE_MAX);
	safe_put_value(&text, value);
	table_add(table, buf_string(&text));
	buf_done(&text);
}

static void add_ms(struct table *table, const json_t *value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.1f ms", json_number_value(value));
	table_add(table, json_is_number(value) ? text : NULL);
}

static void add_line(struct table *table, const char *text)
{
	size_t size = text != NULL ? strcspn(text, "\n") : 0;
	AUTO_FREE char *line = NULL;

	if (text != NULL && text[size] != '\0' && asprintf(&line, "%.*s ...", (int)size, text) < 0)
		abort();
	table_add(table, line != NULL ? line : text);
}

static void add_value(struct table *table, const json_t *value, enum column_kind kind)
{
	switch (kind) {
	case COLUMN_TEXT:
		if (json_is_string(value) || value == NULL || json_is_null(value))
			table_add(table, json_string_value(value));
		else
			table_add_value(table, value);
		break;
	case COLUMN_SIZE:
		add_size(table, (uint64_t)json_integer_value(value));
		break;
	case COLUMN_AGE:
		add_age(table, (uint64_t)json_integer_value(value), wall_ms());
		break;
	case COLUMN_MS:
		add_ms(table, value);
		break;
	case COLUMN_LINE:
		add_line(table, json_string_value(value));
		break;
	}
}

static const json_t *find_member(const json_t *object, const char *path)
{
	size_t size = strcspn(path, ".");
	const json_t *value = json_object_getn(object, path, size);

	return path[size] == '.' ? json_object_get(value, path + size + 1) : value;
}

/* Approximate width on a terminal: one column per character. */
static size_t width_of(const char *text)
{
	return utf8_count(text, strlen(text));
}

static void print_row(const struct table *table, const char *const *cells, const size_t *widths,
		      FILE *out, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < table->columns; i++) {
		bool is_last = i + 1 == table->columns;
		size_t width = width_of(cells[i]);
		size_t size = strlen(cells[i]);

		if (room > 0 && used >= room)
			break;
		while (room > 0 && used + width > room && size > 0) {
			size = utf8_cut(cells[i], size - 1);
			width--;
		}
		(void)fprintf(out, "%.*s", (int)size, cells[i]);
		used += widths[i] + GAP;
		if (!is_last && (room == 0 || used < room))
			(void)fprintf(out, "%*s", (int)(widths[i] - width + GAP), "");
	}
	(void)fputc('\n', out);
}

void table_print(const struct table *table, FILE *out, size_t width)
{
	size_t widths[TABLE_COLUMNS_MAX] = {0};

	for (size_t i = 0; i < table->columns; i++)
		widths[i] = width_of(table->titles[i]);
	for (size_t i = 0; i < table->count; i++) {
		size_t column = table->columns > 0 ? i % table->columns : 0;
		size_t needed = width_of(table->cells[i]);

		if (needed > widths[column])
			widths[column] = needed;
	}
	print_row(table, table->titles, widths, out, width);
	for (size_t i = 0; table->columns > 0 && i + table->columns <= table->count;
	     i += table->columns)
		print_row(table, (const char *const *)table->cells + i, widths, out, width);
}

void table_print_rows(const struct column *columns, const json_t *rows, size_t width, FILE *out)
{
	const char *titles[TABLE_COLUMNS_MAX + 1] = {NULL};
	struct table table;
	size_t index;
	const json_t *row;

	for (size_t i = 0; columns[i].title != NULL; i++)
		titles[i] = columns[i].title;
	table_init(&table, titles);
	json_array_foreach(rows, index, row) {
		for (const struct column *column = columns; column->title != NULL; column++) {
			const json_t *value = find_member(row, column->member);

			if (column->otherwise != NULL && (value == NULL || json_is_null(value)))
				value = find_member(row, column->otherwise);
			add_value(&table, value, column->kind);
		}
	}
	table_print(&table, out, width);
	table_done(&table);
}
