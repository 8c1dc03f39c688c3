// SPDX-License-Identifier: Apache-2.0
#include "cli/edit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"

#define INDENT "    "
#define INDENT_SIZE 4U

void edit_init(struct edit *edit)
{
	*edit = (struct edit){.in = STDIN_FILENO, .out = STDOUT_FILENO, .signals = -1};
	buf_init(&edit->text, EDIT_TEXT_MAX);
	buf_init(&edit->cut, EDIT_TEXT_MAX);
	buf_init(&edit->typed, EDIT_TEXT_MAX);
	buf_init(&edit->draft, EDIT_TEXT_MAX);
}

void edit_done(struct edit *edit)
{
	buf_done(&edit->text);
	buf_done(&edit->cut);
	buf_done(&edit->typed);
	buf_done(&edit->draft);
}

/* ---- the text ---- */

static char *bytes(const struct edit *edit)
{
	return (char *)edit->text.data;
}

void edit_set_text(struct edit *edit, const char *text)
{
	buf_cut(&edit->text, 0);
	(void)buf_text(&edit->text, text);
	edit->cursor = edit->text.size;
}

void edit_insert(struct edit *edit, const char *text, size_t size)
{
	if (size == 0 || buf_reserve(&edit->text, size + 1) < 0)
		return;
	memmove(bytes(edit) + edit->cursor + size, bytes(edit) + edit->cursor,
		edit->text.size - edit->cursor);
	memcpy(bytes(edit) + edit->cursor, text, size);
	edit->text.size += size;
	edit->cursor += size;
}

/* Takes the bytes from `from` to `to` out; with `is_cut` Ctrl-Y brings them back. */
static void take_out(struct edit *edit, size_t from, size_t to, bool is_cut)
{
	if (from >= to)
		return;
	if (is_cut) {
		buf_cut(&edit->cut, 0);
		(void)buf_append(&edit->cut, bytes(edit) + from, to - from);
	}
	memmove(bytes(edit) + from, bytes(edit) + to, edit->text.size - to);
	edit->text.size -= to - from;
	edit->cursor = from;
}

static bool is_inside(const struct edit *edit, size_t at)
{
	return at < edit->text.size && ((unsigned char)bytes(edit)[at] & 0xc0) == 0x80;
}

static size_t left_of(const struct edit *edit, size_t at)
{
	if (at == 0)
		return 0;
	do {
		at--;
	} while (at > 0 && is_inside(edit, at));
	return at;
}

static size_t right_of(const struct edit *edit, size_t at)
{
	if (at >= edit->text.size)
		return edit->text.size;
	do {
		at++;
	} while (is_inside(edit, at));
	return at;
}

static size_t line_start(const struct edit *edit, size_t at)
{
	while (at > 0 && bytes(edit)[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const struct edit *edit, size_t at)
{
	while (at < edit->text.size && bytes(edit)[at] != '\n')
		at++;
	return at;
}

/* Letters, digits, _ and everything that is not ASCII. */
static bool is_word(const struct edit *edit, size_t at)
{
	unsigned char byte = (unsigned char)bytes(edit)[at];

	return byte >= 0x80 || byte == '_' || isalnum(byte);
}

static size_t word_left(const struct edit *edit, size_t at)
{
	while (at > 0 && !is_word(edit, at - 1))
		at--;
	while (at > 0 && is_word(edit, at - 1))
		at--;
	return at;
}

static size_t word_right(const struct edit *edit, size_t at)
{
	while (at < edit->text.size && !is_word(edit, at))
		at++;
	while (at < edit->text.size && is_word(edit, at))
		at++;
	return at;
}

/* ---- history, and lines above and below ---- */

static void show_entry(struct edit *edit, size_t at)
{
	if (edit->at == edit->history->count) {
		buf_cut(&edit->draft, 0);
		(void)buf_append(&edit->draft, bytes(edit), edit->text.size);
	}
	edit->at = at;
	edit_set_text(edit, at < edit->history->count ? edit->history->entries[at]
						      : buf_string(&edit->draft));
}

/* The same column of the line that starts at `start`, as far as it goes. */
static void move_to_line(struct edit *edit, size_t start)
{
	size_t column = edit->cursor - line_start(edit, edit->cursor);
	size_t end = line_end(edit, start);

	edit->cursor = start + column < end ? start + column : end;
	while (is_inside(edit, edit->cursor))
		edit->cursor--;
}

static void move_up(struct edit *edit)
{
	size_t start = line_start(edit, edit->cursor);

	if (start > 0)
		move_to_line(edit, line_start(edit, start - 1));
	else if (edit->at > 0)
		show_entry(edit, edit->at - 1);
}

static void move_down(struct edit *edit)
{
	size_t end = line_end(edit, edit->cursor);

	if (end < edit->text.size)
		move_to_line(edit, end + 1);
	else if (edit->at < edit->history->count)
		show_entry(edit, edit->at + 1);
}

/* ---- completion ---- */

static size_t count_chars(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static size_t byte_of(const struct edit *edit, size_t chars)
{
	size_t at = 0;

	while (chars-- > 0 && at < edit->text.size)
		at = right_of(edit, at);
	return at;
}

/* How far all matches are the same, in whole characters. */
static size_t common_size(const struct edit_matches *matches)
{
	size_t size = strlen(matches->items[0]);

	for (size_t i = 1; i < matches->count; i++) {
		size_t same = 0;

		while (same < size && matches->items[i][same] == matches->items[0][same])
			same++;
		size = same;
	}
	while (size > 0 && ((unsigned char)matches->items[0][size] & 0xc0) == 0x80)
		size--;
	return size;
}

static void use_matches(struct edit *edit, const struct edit_matches *matches)
{
	size_t from = byte_of(edit, matches->start);
	size_t to = byte_of(edit, matches->end);
	size_t common = common_size(matches);

	if (common > to - from || matches->count == 1) {
		take_out(edit, from, to, false);
		edit->cursor = from;
		edit_insert(edit, matches->items[0], common);
	} else {
		edit_list(edit, matches);
	}
}

static void complete(struct edit *edit)
{
	struct edit_matches matches = {0};
	size_t start = line_start(edit, edit->cursor);
	bool is_blank = true;

	for (size_t i = start; i < edit->cursor; i++)
		is_blank &= bytes(edit)[i] == ' ' || bytes(edit)[i] == '\t';
	if (is_blank) {
		edit_insert(edit, INDENT, INDENT_SIZE);
		return;
	}
	if (edit->complete == NULL ||
	    !edit->complete(edit->user, buf_string(&edit->text),
			    count_chars(bytes(edit), edit->cursor), &matches))
		return;
	if (matches.count > 0)
		use_matches(edit, &matches);
	for (size_t i = 0; i < matches.count; i++)
		free(matches.items[i]);
	free(matches.items);
}

/* ---- keys ---- */

/* A new line as deep as this one, and deeper behind a colon. */
static void break_line(struct edit *edit)
{
	size_t start = line_start(edit, edit->cursor);
	size_t depth = start;
	size_t end = edit->cursor;

	while (depth < end && bytes(edit)[depth] == ' ')
		depth++;
	depth -= start;
	while (end > start && bytes(edit)[end - 1] == ' ')
		end--;
	if (end > start && bytes(edit)[end - 1] == ':')
		depth += INDENT_SIZE;
	edit_insert(edit, "\n", 1);
	while (depth-- > 0)
		edit_insert(edit, " ", 1);
}

/* Back to the last step of the indent, where only that is before the cursor. */
static void rub_out(struct edit *edit)
{
	size_t start = line_start(edit, edit->cursor);
	size_t from = left_of(edit, edit->cursor);
	bool is_indent =
		edit->cursor - start >= INDENT_SIZE && (edit->cursor - start) % INDENT_SIZE == 0;

	for (size_t i = start; i < edit->cursor; i++)
		is_indent &= bytes(edit)[i] == ' ';
	take_out(edit, is_indent ? edit->cursor - INDENT_SIZE : from, edit->cursor, false);
}

static void move(struct edit *edit, enum edit_key key)
{
	size_t at = edit->cursor;

	if (key == KEY_LEFT)
		at = left_of(edit, at);
	else if (key == KEY_RIGHT)
		at = right_of(edit, at);
	else if (key == KEY_HOME)
		at = line_start(edit, at);
	else if (key == KEY_END)
		at = line_end(edit, at);
	else if (key == KEY_WORD_LEFT)
		at = word_left(edit, at);
	else if (key == KEY_WORD_RIGHT)
		at = word_right(edit, at);
	edit->cursor = at;
}

static void change(struct edit *edit, enum edit_key key)
{
	size_t at = edit->cursor;

	if (key == KEY_TEXT || key == KEY_PASTE)
		edit_insert(edit, (const char *)edit->typed.data, edit->typed.size);
	else if (key == KEY_NEWLINE)
		break_line(edit);
	else if (key == KEY_BACKSPACE)
		rub_out(edit);
	else if (key == KEY_DELETE)
		take_out(edit, at, right_of(edit, at), false);
	else if (key == KEY_CUT_END)
		take_out(edit, at, line_end(edit, at), true);
	else if (key == KEY_CUT_START)
		take_out(edit, line_start(edit, at), at, true);
	else if (key == KEY_CUT_WORD)
		take_out(edit, word_left(edit, at), at, true);
	else if (key == KEY_CUT_WORD_RIGHT)
		take_out(edit, at, word_right(edit, at), true);
	else if (key == KEY_YANK)
		edit_insert(edit, (const char *)edit->cut.data, edit->cut.size);
}

/* True: the entry is over, as *ret_end says. */
static bool serve(struct edit *edit, enum edit_key key, enum edit_end *ret_end)
{
	if (key == KEY_SEARCH)
		key = edit_search(edit);
	if (key == KEY_EOF && edit->text.size > 0)
		key = KEY_DELETE;
	if (key == KEY_EOF || key == KEY_CANCEL) {
		*ret_end = key == KEY_EOF ? EDIT_OVER : EDIT_CANCELLED;
		return true;
	}
	if (key == KEY_ENTER && edit->is_whole(buf_string(&edit->text), edit->text.size)) {
		*ret_end = EDIT_ENTRY;
		return true;
	}
	if (key == KEY_UP)
		move_up(edit);
	else if (key == KEY_DOWN)
		move_down(edit);
	else if (key == KEY_TAB)
		complete(edit);
	else if (key == KEY_CLEAR)
		edit_clear(edit);
	else if (key >= KEY_LEFT && key <= KEY_WORD_RIGHT)
		move(edit, key);
	else
		change(edit, key == KEY_ENTER ? KEY_NEWLINE : key);
	return false;
}

enum edit_end edit_read(struct edit *edit, struct buf *ret_text)
{
	struct term term = {0};
	enum edit_end end = EDIT_OVER;

	if (!term_raw(&term, edit->in))
		return EDIT_OVER;
	edit_print(edit, "\033[?2004h"); /* what is pasted comes between marks */
	buf_cut(&edit->text, 0);
	edit->cursor = 0;
	edit->row = 0;
	edit->at = edit->history->count;
	do {
		if (edit->ahead_size == 0) /* more is typed already: once is enough */
			edit_draw(edit, edit->prompt);
	} while (!serve(edit, edit_next_key(edit), &end));
	edit_leave(edit);
	edit_print(edit, "\033[?2004l");
	term_restore(&term);
	if (end == EDIT_ENTRY) {
		buf_cut(ret_text, 0);
		(void)buf_append(ret_text, edit->text.data, edit->text.size);
	}
	return end;
}
