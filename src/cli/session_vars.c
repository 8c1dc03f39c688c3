// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "cli/safe.h"
#include "cli/session.h"
#include "cli/table.h"

#define NUMBER_MAX 400U /* bytes of the longest double without an exponent */

/* Its first line, and a mark where there are more: a table of rows is shown by its name. */
static void add_first_line(struct table *table, const char *text)
{
	size_t size = text != NULL ? strcspn(text, "\n") : 0;
	char line[1024]; /* a repr is at most 200 characters */

	if (text == NULL || text[size] == '\0') {
		table_add(table, text);
		return;
	}
	(void)snprintf(line, sizeof(line), "%.*s ...", (int)(size < 1000 ? size : 1000), text);
	table_add(table, line);
}

static void print_vars(const json_t *answer)
{
	static const char *const titles[] = {"NAME", "TYPE", "SIZE", "SHAPE", "VALUE", NULL};
	struct table table;
	size_t index;
	const json_t *variable;

	table_init(&table, titles);
	json_array_foreach(json_object_get(answer, "vars"), index, variable) {
		table_add_member(&table, variable, "name");
		table_add_member(&table, variable, "type");
		table_add_size(&table, session_number(variable, "size"));
		table_add_member(&table, variable, "shape");
		add_first_line(&table, json_string_value(json_object_get(variable, "repr")));
	}
	table_print(&table, stdout, 0);
	table_done(&table);
}

/* ---- rows of a table ---- */

/* With the decimals of its column; those of a column without any are as many as the number needs.
 */
static void put_real(char text[NUMBER_MAX], double number, const json_t *decimals)
{
	if (json_is_integer(decimals)) {
		(void)snprintf(text, NUMBER_MAX, "%.*f", (int)(json_integer_value(decimals) & 0xff),
			       number);
		return;
	}
	safe_real(text, number);
}

static void add_cell(struct table *table, const json_t *cell, const json_t *decimals,
		     const char *missing)
{
	char text[NUMBER_MAX];

	if (cell == NULL || json_is_null(cell)) {
		table_add(table, missing);
	} else if (json_is_string(cell)) {
		table_add(table, json_string_value(cell));
	} else if (json_is_real(cell)) {
		put_real(text, json_real_value(cell), decimals);
		table_add(table, text);
	} else {
		table_add_value(table, cell);
	}
}

/* How values that are missing in the column are printed; NULL: none is. */
static const char *missing_in(const json_t *part, size_t column)
{
	char position[24];

	(void)snprintf(position, sizeof(position), "%zu", column);
	return json_string_value(json_object_get(json_object_get(part, "missing"), position));
}

/* As many columns of a page as fit ours: first the levels of the index. */
struct page {
	const json_t *answer, *index, *levels, *columns;
	char *titles[TABLE_COLUMNS_MAX + 1]; /* owned */
	size_t level_count, column_count;
};

/* Names come from a sandbox, as cells do. */
static size_t add_titles(struct page *page, size_t count, const json_t *names)
{
	size_t index;
	const json_t *name;
	struct buf title;

	json_array_foreach(names, index, name) {
		AUTO_FREE char *number =
			json_is_integer(name) ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
		const char *text = number != NULL ? number : json_string_value(name);
		size_t size = text != NULL ? strlen(text) : 0;

		if (count == TABLE_COLUMNS_MAX)
			break;
		while (size > TABLE_CELL_MAX ||
		       (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80))
			size--;
		buf_init(&title, 8UL * TABLE_CELL_MAX);
		if (size > 0)
			safe_put(&title, text, size);
		page->titles[count++] = xstrdup(buf_string(&title));
		buf_done(&title);
	}
	return count;
}

static void add_row(struct table *table, const struct page *page, size_t number)
{
	const json_t *row = json_array_get(json_object_get(page->answer, "rows"), number);
	const json_t *mark = json_array_get(json_object_get(page->index, "rows"), number);
	const json_t *decimals = json_object_get(page->answer, "decimals");

	for (size_t i = 0; i < page->level_count; i++)
		add_cell(table, json_array_get(mark, i), NULL, missing_in(page->index, i));
	for (size_t i = 0; i < page->column_count; i++)
		add_cell(table, json_array_get(row, i), json_array_get(decimals, i),
			 missing_in(page->answer, i));
}

static void print_counts(const struct page *page)
{
	size_t shown = json_array_size(json_object_get(page->answer, "rows"));
	uint64_t total = session_number(page->answer, "total");
	uint64_t matched = session_number(page->answer, "matched");

	(void)printf("%zu of %" PRIu64 " rows", shown, matched);
	if (matched != total)
		(void)printf(" that match, %" PRIu64 " in all", total);
	if (page->column_count < json_array_size(page->columns))
		(void)printf("; %zu of %zu columns", page->column_count,
			     json_array_size(page->columns));
	(void)printf("\n");
}

static void print_rows(const json_t *answer)
{
	struct page page = {.answer = answer, .index = json_object_get(answer, "index")};
	struct table table;
	size_t count;

	page.levels = json_object_get(page.index, "names");
	page.columns = json_object_get(answer, "columns");
	page.level_count = add_titles(&page, 0, page.levels);
	count = add_titles(&page, page.level_count, page.columns);
	page.column_count = count - page.level_count;
	table_init(&table, (const char *const *)page.titles);
	for (size_t i = 0; i < json_array_size(json_object_get(answer, "rows")); i++)
		add_row(&table, &page, i);
	if (count > 0)
		table_print(&table, stdout, 0);
	table_done(&table);
	print_counts(&page);
	for (size_t i = 0; i < count; i++)
		free(page.titles[i]);
}

static void put_query(struct buf *path, const struct session_options *options)
{
	char offset[24], limit[24];

	(void)snprintf(offset, sizeof(offset), "%" PRIu64, options->offset);
	(void)snprintf(limit, sizeof(limit), "%" PRIu64, options->limit);
	session_put_query(path, "offset", options->offset > 0 ? offset : NULL);
	session_put_query(path, "limit", options->limit > 0 ? limit : NULL);
	session_put_query(path, "sort", options->sort);
	session_put_query(path, "filter", options->filter);
	session_put_query(path, "search", options->search);
	session_put_query(path, "format", options->csv != NULL ? "csv" : NULL);
}

static int check_options(const struct session_desk *desk, struct err *err)
{
	const struct session_options *options = desk->options;

	if (desk->rest_count > 0 || (options->sort == NULL && options->filter == NULL &&
				     options->search == NULL && options->csv == NULL))
		return 0;
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "vars: --sort, --filter, --search and --csv are for a table; name it");
}

int verb_vars(const struct session_desk *desk, struct err *err)
{
	json_auto_t *answer = NULL;
	struct buf path;
	int r = check_options(desk, err);

	if (r < 0)
		return r;
	session_path(desk, &path, "/vars%s", desk->rest_count > 0 ? "/" : "");
	if (desk->rest_count > 0)
		client_put_escaped(&path, desk->rest[0], false);
	put_query(&path, desk->options);
	if (desk->options->csv != NULL)
		return session_fetch(desk, &path, desk->options->csv, err);
	answer = session_get(desk, &path, err);
	if (answer == NULL)
		return -err->num;
	if (desk->options->run.is_json)
		return CMD_OK;
	if (desk->rest_count > 0)
		print_rows(answer);
	else
		print_vars(answer);
	if (json_is_string(json_object_get(answer, "as_of")))
		(void)fprintf(stderr, "viv session: a run is on; this is as of %s\n",
			      json_string_value(json_object_get(answer, "as_of")));
	return CMD_OK;
}
