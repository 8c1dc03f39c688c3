// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/utf8.h"
#include "cli/client.h"
#include "cli/safe.h"
#include "cli/session.h"
#include "cli/table.h"

#define REPR_MAX 200U /* of a value, as the daemon cuts it */
#define NO_TABLE "not a table"
#define NUMBER_MAX 400U /* bytes of the longest double without an exponent */

static void print_vars(const json_t *answer)
{
	static const struct column columns[] = {
		{"NAME", "name"},
		{"TYPE", "type"},
		{"SIZE", "size", .kind = COLUMN_SIZE},
		{"SHAPE", "shape"},
		{"VALUE", "repr", .kind = COLUMN_LINE},
		{0},
	};

	table_print_rows(columns, json_object_get(answer, "vars"), 0, stdout);
}

/* ---- rows of a table ---- */

/* Formats a number with the decimals of its column; without those, with as many as it needs. */
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
		     const char *missing, const char *own)
{
	char text[NUMBER_MAX];

	if (own != NULL) {
		table_add(table, own);
	} else if (cell == NULL || json_is_null(cell)) {
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

/* The text for missing values of the column; NULL: it has none. */
static const char *missing_in(const json_t *part, size_t column)
{
	char position[24];

	(void)snprintf(position, sizeof(position), "%zu", column);
	return json_string_value(json_object_get(json_object_get(part, "missing"), position));
}

/* The text of a value whose JSON is ambiguous; NULL: its JSON is clear. */
static const char *text_of(const json_t *part, size_t column, size_t row)
{
	char position[24];
	const json_t *texts;

	(void)snprintf(position, sizeof(position), "%zu", column);
	texts = json_object_get(json_object_get(part, "texts"), position);
	(void)snprintf(position, sizeof(position), "%zu", row);
	return json_string_value(json_object_get(texts, position));
}

/* The columns of a page that fit our table, with the levels of the index first. */
struct page {
	const json_t *answer, *index, *levels, *columns;
	char *titles[TABLE_COLUMNS_MAX + 1]; /* owned */
	size_t level_count, column_count;
};

/* Adds columns' names, escaped: they come from a sandbox, like cells. */
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
		size = utf8_cut(text, size < TABLE_CELL_MAX ? size : TABLE_CELL_MAX);
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
		add_cell(table, json_array_get(mark, i), NULL, missing_in(page->index, i),
			 text_of(page->index, i, number));
	for (size_t i = 0; i < page->column_count; i++)
		add_cell(table, json_array_get(row, i), json_array_get(decimals, i),
			 missing_in(page->answer, i), text_of(page->answer, i, number));
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
		       "vars: --sort, --filter, --search and --csv need the NAME of a table");
}

static bool is_plain_ask(const struct session_options *options)
{
	return options->offset == 0 && options->limit == 0 && options->sort == NULL &&
	       options->filter == NULL && options->search == NULL;
}

/* Prints a text with its line breaks; other control characters are escaped. */
static void print_lines(const char *text)
{
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy;
	const char *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		safe_print(stdout, line);
		(void)printf("%s", rest != NULL ? "\n" : "");
	}
}

/* Prints a variable that is not a table as the list of variables shows it. */
static int print_value(const struct session_desk *desk, struct err *err)
{
	json_auto_t *answer = NULL;
	const json_t *variable;
	struct err why = *err;
	struct buf path;
	size_t index;

	session_path(desk, &path, "/vars");
	answer = client_json(desk->client, "GET", buf_string(&path), NULL, err);
	buf_done(&path);
	if (answer == NULL)
		return -err->num;
	json_array_foreach(json_object_get(answer, "vars"), index, variable) {
		const char *name = json_string_value(json_object_get(variable, "name"));
		const char *text = json_string_value(json_object_get(variable, "repr"));

		if (name == NULL || text == NULL || strcmp(name, desk->rest[0]) != 0)
			continue;
		if (desk->options->run.is_json) {
			safe_print_json(variable);
			return CMD_OK;
		}
		print_lines(text);
		(void)printf("%s\n", strlen(text) >= REPR_MAX ? "..." : "");
		return CMD_OK;
	}
	return err_set(err, why.kind, why.num, "%.100s is not a table%s", desk->rest[0],
		       strchr(why.text, ':') != NULL ? strchr(why.text, ':') : "");
}

/* If a checkpoint answered: which one, and whether runs are not in it. */
static void print_as_of(const json_t *answer)
{
	const char *state = json_string_value(json_object_get(answer, "as_of"));
	const char *blocker = json_string_value(json_object_get(answer, "checkpoint_blocked_by"));

	if (state == NULL)
		return;
	(void)fprintf(stderr,
		      "viv session: a run is in progress; this is the state of checkpoint ");
	safe_print(stderr, state);
	if (blocker != NULL) {
		(void)fprintf(stderr, ", without what later runs did (a newer one is blocked by: ");
		safe_print(stderr, blocker);
		(void)fprintf(stderr, ")");
	}
	(void)fprintf(stderr, "\n");
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
	if (answer == NULL && err->kind == ERR_CONFLICT && desk->rest_count > 0 &&
	    strncmp(err->text, NO_TABLE, strlen(NO_TABLE)) == 0 && is_plain_ask(desk->options))
		return print_value(desk, err);
	if (answer == NULL)
		return -err->num;
	if (desk->options->run.is_json)
		return CMD_OK;
	if (desk->rest_count > 0)
		print_rows(answer);
	else
		print_vars(answer);
	print_as_of(answer);
	return CMD_OK;
}
