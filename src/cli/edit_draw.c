// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <wchar.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/edit.h"
#include "cli/safe.h"

#define TAB_WIDTH 4
#define LIST_MAX 60U /* matches that are shown; the others are counted */

/* A place on the terminal, counted from the first column of the prompt. */
struct place {
	size_t row, column;
};

void edit_print(const struct edit *edit, const char *text)
{
	struct err err = {0};

	(void)io_write_all(edit->out, text, strlen(text), &err);
}

/* Decodes one character; bytes that are none count as one column each. */
static size_t decode(const char *text, size_t size, int *ret_width)
{
	mbstate_t state = {0};
	wchar_t wide = 0;
	size_t n = mbrtowc(&wide, text, size, &state);

	if (n == 0 || n > size) {
		*ret_width = 1;
		return 1;
	}
	*ret_width = wcwidth(wide);
	if (*ret_width < 0)
		*ret_width = 1;
	return n;
}

static void advance(struct place *place, size_t width, size_t columns)
{
	if (place->column + width > columns) {
		place->row++;
		place->column = 0;
	}
	place->column += width;
}

/* Appends text to what is to be printed and follows where it leaves the terminal's cursor. */
static void put(struct buf *screen, struct place *place, const char *text, size_t size,
		size_t columns)
{
	while (size > 0) {
		int width = 1;
		size_t n = decode(text, size, &width);
		unsigned char byte = (unsigned char)text[0];

		if (byte == '\t') {
			width = TAB_WIDTH;
			(void)buf_text(screen, "    ");
		} else if (byte < 0x20 || byte == 0x7f) {
			(void)buf_text(screen, "?");
		} else {
			(void)buf_append(screen, text, n);
		}
		advance(place, (size_t)width, columns);
		text += n;
		size -= n;
	}
}

/* The text line by line, each behind its prompt. *ret_cursor is where the cursor belongs. */
static struct place put_text(const struct edit *edit, struct buf *screen, const char *prompt,
			     size_t columns, struct place *ret_cursor)
{
	const char *text = (const char *)edit->text.data;
	struct place place = {0};
	size_t at = 0;

	put(screen, &place, prompt, strlen(prompt), columns);
	*ret_cursor = place;
	while (at < edit->text.size) {
		size_t stop = at;

		while (stop < edit->text.size && text[stop] != '\n' &&
		       (stop != edit->cursor || stop == at))
			stop++;
		put(screen, &place, text + at, stop - at, columns);
		at = stop;
		if (at == edit->cursor)
			*ret_cursor = place;
		if (at < edit->text.size && text[at] == '\n') {
			(void)buf_text(screen, "\r\n");
			place = (struct place){.row = place.row + 1};
			put(screen, &place, edit->more, strlen(edit->more), columns);
			at++;
			if (at == edit->cursor)
				*ret_cursor = place;
		}
	}
	return place;
}

static void go_to_start(const struct edit *edit, struct buf *screen)
{
	if (edit->row > 0)
		(void)buf_format(screen, "\033[%zuA", edit->row);
	(void)buf_text(screen, "\r");
}

void edit_draw(struct edit *edit, const char *prompt)
{
	struct place cursor;
	struct place end;
	struct buf screen;
	size_t columns;
	size_t rows;

	term_size(edit->out, &columns, &rows);
	buf_init(&screen, 4UL * EDIT_TEXT_MAX);
	go_to_start(edit, &screen);
	(void)buf_text(&screen, "\033[J");
	end = put_text(edit, &screen, prompt, columns, &cursor);
	if (end.column == columns) {
		/* The terminal waits in the last column for one more character. */
		(void)buf_text(&screen, "\r\n");
		end = (struct place){.row = end.row + 1};
	}
	if (cursor.column == columns)
		cursor = (struct place){.row = cursor.row + 1};
	if (end.row > cursor.row)
		(void)buf_format(&screen, "\033[%zuA", end.row - cursor.row);
	(void)buf_text(&screen, "\r");
	if (cursor.column > 0)
		(void)buf_format(&screen, "\033[%zuC", cursor.column);
	edit->row = cursor.row;
	edit_print(edit, buf_string(&screen));
	buf_done(&screen);
}

void edit_leave(struct edit *edit)
{
	edit->cursor = edit->text.size;
	edit_draw(edit, edit->prompt);
	edit_print(edit, "\r\n");
	edit->row = 0;
}

void edit_clear(struct edit *edit)
{
	edit_print(edit, "\033[H\033[2J");
	edit->row = 0;
}

/* Below what is typed, in columns; the prompt is drawn anew under it. */
void edit_list(struct edit *edit, const struct edit_matches *matches)
{
	size_t shown = matches->count < LIST_MAX ? matches->count : LIST_MAX;
	size_t cursor = edit->cursor;
	size_t width = 8;
	size_t columns;
	size_t rows;
	struct buf list;

	term_size(edit->out, &columns, &rows);
	for (size_t i = 0; i < shown; i++) {
		size_t size = strlen(matches->items[i]) + 2;

		width = size > width ? size : width;
	}
	edit_leave(edit);
	edit->cursor = cursor;
	buf_init(&list, 1U << 20);
	for (size_t i = 0; i < shown; i++) {
		size_t before = list.size;
		bool is_last = (i + 1) % (columns / width > 0 ? columns / width : 1) == 0;

		safe_put(&list, matches->items[i], strlen(matches->items[i]));
		if (is_last || i + 1 == shown)
			(void)buf_text(&list, "\r\n");
		else
			(void)buf_format(&list, "%*s", (int)(width - (list.size - before)), "");
	}
	if (shown < matches->count)
		(void)buf_format(&list, "(%zu more)\r\n", matches->count - shown);
	edit_print(edit, buf_string(&list));
	buf_done(&list);
}
