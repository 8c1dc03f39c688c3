// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/scan.h"
#include "base/c.h"
#include "base/near.h"

/* Checks the shape of a run's table as it passes by; no value is kept. */

#define TOP_DEPTH 2 /* inside the table: the body is 1 */
#define LIST_DEPTH 3
#define ROW_DEPTH 4

static const char *const part_names[] = {[TABLE_COLUMNS] = "columns", [TABLE_ROWS] = "rows"};

/* The format begins with a place in the table, up to its first colon: ".rows[3]: must be". */
static int refuse(const struct scan *scan, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(const struct scan *scan, struct err *err, const char *format, ...)
{
	char text[160];
	va_list args;
	int r;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r = err_set(err, ERR_BAD_REQUEST, EINVAL, "%s%s", scan->member->name, text);
	err->field = (uint32_t)(strlen(scan->member->name) + strcspn(text, ":"));
	return r;
}

static unsigned long long number(uint64_t value)
{
	return value;
}

static bool is_list_at(const struct scan *scan, size_t depth)
{
	return (scan->walk.lists >> (depth - 1) & 1) != 0;
}

/* A name is taken for a typo if at most half of it would have to change. */
static int refuse_key(const struct scan *scan, struct err *err)
{
	const char *key = scan->table.key;
	char name[3 * PARAM_NAME_MAX];

	(void)snprintf(name, sizeof(name), "%s.%s", scan->member->name, key);
	for (size_t i = TABLE_COLUMNS; i < TABLE_PART_COUNT; i++) {
		if (near_distance(key, part_names[i]) <= strlen(key) / 2)
			return err_field(err, ERR_BAD_REQUEST, EINVAL, name,
					 "there is no such field; did you mean %s.%s?",
					 scan->member->name, part_names[i]);
	}
	return err_field(err, ERR_BAD_REQUEST, EINVAL, name,
			 "there is no such field; a table has columns and rows");
}

static int end_key(struct scan *scan, struct err *err)
{
	struct scan_table *table = &scan->table;

	table->part = TABLE_NONE;
	for (size_t i = TABLE_COLUMNS; i < TABLE_PART_COUNT; i++) {
		if (strcmp(table->key, part_names[i]) == 0 && strlen(table->key) == table->key_size)
			table->part = (enum scan_table_part)i;
	}
	if (table->part == TABLE_NONE)
		return refuse_key(scan, err);
	if (table->has[table->part])
		return refuse(scan, err, ".%s: given twice", table->key);
	table->has[table->part] = true;
	return 0;
}

static int take_key_step(struct scan *scan, enum walk_step step, const uint8_t *from,
			 const uint8_t *to, struct err *err)
{
	struct scan_table *table = &scan->table;
	const uint8_t *bytes = step == WALK_ESCAPE ? scan->walk.chars : from;
	size_t size = step == WALK_ESCAPE ? scan->walk.char_count : (size_t)(to - from);
	size_t room = sizeof(table->key) - 1 - table->key_size;

	if (step == WALK_BEGIN) {
		table->key_size = 0;
		memset(table->key, 0, sizeof(table->key));
		return 0;
	}
	if (step == WALK_END)
		return end_key(scan, err);
	if (step != WALK_RUN && step != WALK_ESCAPE)
		return 0;
	if (size > room)
		size = room;
	memcpy(table->key + table->key_size, bytes, size);
	table->key_size += size;
	return 0;
}

/* All rows are as long as the first, and the first has as many values as there are columns,
 * whichever of columns and rows came first. */
static int check_width(const struct scan *scan, struct err *err)
{
	const struct scan_table *table = &scan->table;
	bool has_columns = table->part == TABLE_ROWS && table->has[TABLE_COLUMNS];
	uint64_t wanted = table->counts[has_columns ? TABLE_COLUMNS : TABLE_ROWS];

	if (table->width == wanted)
		return 0;
	return refuse(scan, err, ".rows[%llu]: has %llu values, but %s %llu", number(table->row),
		      number(table->width),
		      has_columns ? "the number of columns is" : "rows[0] has", number(wanted));
}

static int end_row(struct scan *scan, struct err *err)
{
	struct scan_table *table = &scan->table;
	int r;

	if (table->row == 0)
		table->counts[TABLE_ROWS] = table->width;
	r = check_width(scan, err);
	table->row++;
	table->width = 0;
	return r;
}

/* The list of columns or of rows is over. */
static int end_list(const struct scan *scan, struct err *err)
{
	const struct scan_table *table = &scan->table;
	uint64_t columns = table->counts[TABLE_COLUMNS];

	if (table->part != TABLE_COLUMNS || table->row == 0 || columns == table->counts[TABLE_ROWS])
		return 0;
	return refuse(scan, err, ".columns: there are %llu, but rows[0] has %llu values",
		      number(columns), number(table->counts[TABLE_ROWS]));
}

static int end_table(const struct scan *scan, struct err *err)
{
	for (size_t i = TABLE_COLUMNS; i < TABLE_PART_COUNT; i++) {
		if (!scan->table.has[i])
			return refuse(scan, err, ".%s: is required", part_names[i]);
	}
	return 0;
}

/* A value has begun; `parent` is the depth of its parent. */
static int begin_value(struct scan *scan, size_t parent, enum walk_step step, struct err *err)
{
	struct scan_table *table = &scan->table;
	bool is_list = step == WALK_OPEN && is_list_at(scan, scan->walk.depth);

	if (parent == TOP_DEPTH && !is_list)
		return refuse(scan, err, ".%s: must be a list", part_names[table->part]);
	if (parent == LIST_DEPTH && table->part == TABLE_COLUMNS && step != WALK_BEGIN)
		return refuse(scan, err, ".columns[%llu]: must be a string",
			      number(table->counts[TABLE_COLUMNS]));
	if (parent == LIST_DEPTH && table->part == TABLE_COLUMNS)
		table->counts[TABLE_COLUMNS]++;
	else if (parent == LIST_DEPTH && !is_list)
		return refuse(scan, err, ".rows[%llu]: must be a list", number(table->row));
	else if (parent == ROW_DEPTH && table->part == TABLE_ROWS)
		table->width++;
	return 0;
}

static int take_records_step(struct scan *scan, enum walk_step step, bool is_begun, struct err *err)
{
	bool is_object = step == WALK_OPEN && !is_list_at(scan, scan->walk.depth);
	size_t parent = scan->walk.depth - (step == WALK_OPEN ? 1 : 0);

	if (!is_begun || parent != TOP_DEPTH)
		return 0;
	if (!is_object)
		return refuse(scan, err, "[%llu]: must be an object", number(scan->table.row));
	scan->table.row++;
	return 0;
}

int scan_table_step(struct scan *scan, enum walk_step step, const uint8_t *from, const uint8_t *to,
		    struct err *err)
{
	struct scan_table *table = &scan->table;
	size_t depth = scan->walk.depth;
	size_t parent = depth - (step == WALK_OPEN ? 1 : 0);
	bool is_key = scan->walk.is_key && (step == WALK_BEGIN || step == WALK_RUN ||
					    step == WALK_ESCAPE || step == WALK_END);
	bool is_begun = scan->walk.values != table->values && !is_key;

	table->values = scan->walk.values;
	if (depth < TOP_DEPTH)
		return step == WALK_CLOSE && !table->is_records ? end_table(scan, err) : 0;
	if (depth == TOP_DEPTH && step == WALK_OPEN) {
		table->is_records = is_list_at(scan, TOP_DEPTH);
		return 0;
	}
	if (table->is_records)
		return take_records_step(scan, step, is_begun, err);
	if (is_key && depth == TOP_DEPTH)
		return take_key_step(scan, step, from, to, err);
	if (is_begun)
		return begin_value(scan, parent, step, err);
	if (step == WALK_CLOSE && depth == LIST_DEPTH && table->part == TABLE_ROWS)
		return end_row(scan, err);
	return step == WALK_CLOSE && depth == TOP_DEPTH ? end_list(scan, err) : 0;
}
