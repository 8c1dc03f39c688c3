// SPDX-License-Identifier: Apache-2.0
#include "cli/edit.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include <sys/signalfd.h>

#include "base/c.h"
#include "base/utf8.h"
#include "cli/safe.h"
#include "cli/term.h"

#define INDENT 4U
#define SPACES "                                                                "
#define LIST_MAX 60U       /* matches that are shown; the others are counted */
#define END_ENTRY "\030\r" /* keys bound to libedit's ed-newline; Enter is not */
#define PASTE_END "\033[201~"

/* ---- keys ---- */

/* A SIGINT here came too late for the run that it was meant for: it is ignored. */
static bool is_to_leave(const struct edit *edit)
{
	struct signalfd_siginfo info;

	return read(edit->signals, &info, sizeof(info)) == (ssize_t)sizeof(info) &&
	       info.ssi_signo != SIGINT;
}

/* Reads only one byte: the rest stays in the terminal, for a run that reads stdin. */
static bool next_byte(const struct edit *edit, char *ret_byte)
{
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
				{.fd = edit->signals, .events = POLLIN}};

	do {
		int r = poll(fds, 2, -1);

		if (r < 0 && errno != EINTR)
			return false;
		if (r > 0 && fds[1].revents != 0 && is_to_leave(edit))
			return false;
	} while (fds[0].revents == 0);
	return read(STDIN_FILENO, ret_byte, 1) == 1;
}

static struct edit *edit_of(EditLine *line)
{
	void *edit = NULL;

	(void)el_get(line, EL_CLIENTDATA, &edit);
	return edit;
}

/* The next character, for libedit. Bytes that are not UTF-8 are dropped: an entry becomes JSON. */
static int next_key(EditLine *line, wchar_t *ret_key)
{
	const struct edit *edit = edit_of(line);
	mbstate_t state = {0};
	size_t n;

	do {
		char byte;

		if (!next_byte(edit, &byte))
			return 0;
		n = mbrtowc(ret_key, &byte, 1, &state);
		if (n == (size_t)-1)
			state = (mbstate_t){0};
	} while (n == (size_t)-1 || n == (size_t)-2 || *ret_key == L'\0');
	return 1;
}

/* ---- the text ---- */

/* Fills edit->text and edit->cursor; bytes after libedit's lastchar are stale. */
static struct edit *look(EditLine *line)
{
	struct edit *edit = edit_of(line);
	const LineInfo *info = el_line(line);

	buf_cut(&edit->text, 0);
	(void)buf_append(&edit->text, info->buffer, (size_t)(info->lastchar - info->buffer));
	(void)buf_string(&edit->text);
	edit->cursor = (size_t)(info->cursor - info->buffer);
	return edit;
}

/* The first byte of the cursor's line. */
static size_t line_start(const struct edit *edit)
{
	size_t at = edit->cursor;

	while (at > 0 && edit->text.data[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const struct edit *edit)
{
	return edit->cursor + strcspn((const char *)edit->text.data + edit->cursor, "\n");
}

static int count_chars(const struct edit *edit, size_t from, size_t to)
{
	return (int)utf8_count(edit->text.data + from, to - from);
}

/* True if only spaces stand between the start of the line and the cursor. */
static bool is_indent(const struct edit *edit)
{
	size_t start = line_start(edit);

	return strspn((const char *)edit->text.data + start, " ") >= edit->cursor - start;
}

static void insert_spaces(EditLine *line, size_t count)
{
	if (count > 0 && count < sizeof(SPACES))
		(void)el_insertstr(line, &SPACES[sizeof(SPACES) - 1 - count]);
}

/* Starts a line with the same indent as this one, and a deeper one after a colon. */
static unsigned char break_line(EditLine *line, int key)
{
	const struct edit *edit = look(line);
	size_t start = line_start(edit);
	size_t depth = strspn((const char *)edit->text.data + start, " ");
	size_t end = edit->cursor;

	(void)key;
	if (depth > edit->cursor - start)
		depth = edit->cursor - start;
	while (end > start && edit->text.data[end - 1] == ' ')
		end--;
	if (end > start && edit->text.data[end - 1] == ':')
		depth += INDENT;
	(void)el_insertstr(line, "\n");
	insert_spaces(line, depth);
	return CC_REFRESH;
}

static unsigned char enter(EditLine *line, int key)
{
	const struct edit *edit = look(line);

	if (!edit->is_whole((const char *)edit->text.data, edit->text.size))
		return break_line(line, key);
	el_push(line, END_ENTRY);
	return CC_NORM;
}

/* Backspace: deletes a whole step of an indent at once. */
static unsigned char rub_out(EditLine *line, int key)
{
	const struct edit *edit = look(line);
	size_t column = edit->cursor - line_start(edit);

	(void)key;
	if (edit->cursor == 0)
		return CC_ERROR;
	el_deletestr(line, column > 0 && column % INDENT == 0 && is_indent(edit) ? INDENT : 1);
	return CC_REFRESH;
}

static unsigned char cancel(EditLine *line, int key)
{
	(void)key;
	edit_of(line)->is_cancelled = true;
	el_push(line, END_ENTRY);
	return CC_NORM;
}

/* Inserts a bracketed paste; terminals send \r for each newline. */
static unsigned char paste(EditLine *line, int key)
{
	size_t end = strlen(PASTE_END);
	struct buf text;
	wchar_t wide;

	(void)key;
	buf_init(&text, EDIT_TEXT_MAX);
	while (text.size < end || memcmp(text.data + text.size - end, PASTE_END, end) != 0) {
		mbstate_t state = {0};
		char bytes[MB_LEN_MAX];
		size_t n;

		if (el_wgetc(line, &wide) != 1)
			break;
		n = wcrtomb(bytes, wide == L'\r' ? L'\n' : wide, &state);
		if (n == (size_t)-1 || buf_append(&text, bytes, n) < 0)
			break;
	}
	buf_cut(&text, text.size > end ? text.size - end : 0);
	(void)el_insertstr(line, buf_string(&text));
	buf_done(&text);
	return CC_REFRESH;
}

/* ---- history, and lines above and below ---- */

static unsigned char show_entry(EditLine *line, struct edit *edit, size_t at)
{
	const char *entry = at > 0 ? history_get(edit->history, at) : buf_string(&edit->draft);

	if (entry == NULL)
		return CC_ERROR;
	if (edit->at == 0) {
		buf_cut(&edit->draft, 0);
		(void)buf_append(&edit->draft, edit->text.data, edit->text.size);
	}
	edit->at = at;
	(void)el_replacestr(line, entry);
	(void)el_cursor(line, (int)EDIT_TEXT_MAX); /* libedit stops at the end */
	return CC_REFRESH;
}

/* Moves to the same column of the line above, or to its end; from the first line to history. */
static unsigned char go_up(EditLine *line, int key)
{
	struct edit *edit = look(line);
	size_t start = line_start(edit);
	int column = count_chars(edit, start, edit->cursor);
	int width;

	(void)key;
	if (start == 0)
		return show_entry(line, edit, edit->at + 1);
	edit->cursor = start - 1;
	width = count_chars(edit, line_start(edit), start - 1);
	(void)el_cursor(line, -column - 1 - (width > column ? width - column : 0));
	return CC_CURSOR;
}

static unsigned char go_down(EditLine *line, int key)
{
	struct edit *edit = look(line);
	size_t end = line_end(edit);
	int column = count_chars(edit, line_start(edit), edit->cursor);
	int left = count_chars(edit, edit->cursor, end);
	int width;

	(void)key;
	if (end == edit->text.size)
		return edit->at > 0 ? show_entry(line, edit, edit->at - 1) : CC_ERROR;
	edit->cursor = end + 1;
	width = count_chars(edit, end + 1, line_end(edit));
	(void)el_cursor(line, left + 1 + (width < column ? width : column));
	return CC_CURSOR;
}

static unsigned char go_home(EditLine *line, int key)
{
	const struct edit *edit = look(line);

	(void)key;
	(void)el_cursor(line, -count_chars(edit, line_start(edit), edit->cursor));
	return CC_CURSOR;
}

static unsigned char go_end(EditLine *line, int key)
{
	const struct edit *edit = look(line);

	(void)key;
	(void)el_cursor(line, count_chars(edit, edit->cursor, line_end(edit)));
	return CC_CURSOR;
}

/* ---- completion ---- */

/* The size of the prefix that all matches share, in whole characters. */
static size_t common_size(const struct edit_matches *matches)
{
	size_t size = strlen(matches->items[0]);

	for (size_t i = 1; i < matches->count; i++) {
		size_t same = 0;

		while (same < size && matches->items[i][same] == matches->items[0][same])
			same++;
		size = same;
	}
	return utf8_cut(matches->items[0], size);
}

/* Prints the matches in columns below the entry; libedit draws the entry again under them. */
static void print_list(EditLine *line, const struct edit_matches *matches)
{
	size_t shown = matches->count < LIST_MAX ? matches->count : LIST_MAX;
	size_t width = 8;
	size_t columns;
	size_t rows;
	struct buf list;

	term_size(STDOUT_FILENO, &columns, &rows);
	for (size_t i = 0; i < shown; i++) {
		size_t size = strlen(matches->items[i]) + 2;

		width = size > width ? size : width;
	}
	buf_init(&list, 1U << 20);
	(void)buf_text(&list, "\r\n\033[J");
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
	(void)fputs(buf_string(&list), stdout);
	buf_done(&list);
	(void)el_set(line, EL_REFRESH);
}

static void use_matches(EditLine *line, const struct edit *edit, struct edit_matches *matches)
{
	int cursor = count_chars(edit, 0, edit->cursor);
	size_t common = common_size(matches);
	size_t replaced = matches->end - matches->start;

	if (matches->count > 1 && common <= replaced) {
		print_list(line, matches);
		return;
	}
	matches->items[0][common] = '\0';
	(void)el_cursor(line, (int)matches->end - cursor);
	el_deletestr(line, (int)replaced);
	(void)el_insertstr(line, matches->items[0]);
}

/* Tab: inserts an indent at the start of a line, else completes. */
static unsigned char complete(EditLine *line, int key)
{
	struct edit *edit = look(line);
	struct edit_matches matches = {0};

	(void)key;
	if (is_indent(edit)) {
		insert_spaces(line, INDENT);
		return CC_REFRESH;
	}
	if (!edit->complete(edit->user, buf_string(&edit->text),
			    (size_t)count_chars(edit, 0, edit->cursor), &matches))
		return CC_ERROR;
	if (matches.count > 0)
		use_matches(line, edit, &matches);
	for (size_t i = 0; i < matches.count; i++)
		free(matches.items[i]);
	free(matches.items);
	return CC_REFRESH;
}

/* ---- one entry ---- */

static const struct {
	const char *name, *help;
	unsigned char (*call)(EditLine *line, int key);
} functions[] = {
	{"viv-enter", "end a whole entry, else a new line", enter},
	{"viv-line", "a new line in any case", break_line},
	{"viv-rub-out", "delete a character, or a step of an indent", rub_out},
	{"viv-cancel", "drop the entry", cancel},
	{"viv-paste", "take what is pasted as it is", paste},
	{"viv-up", "the line above, or an older entry", go_up},
	{"viv-down", "the line below, or a newer entry", go_down},
	{"viv-home", "the start of the line", go_home},
	{"viv-end", "the end of the line", go_end},
	{"viv-complete", "complete a name", complete},
};

/* In addition to libedit's emacs keys. */
static const struct {
	const char *keys, *function;
} keys[] = {
	{"^M", "viv-enter"},
	{"^J", "viv-enter"},
	{"\\e^M", "viv-line"},
	{"\\e^J", "viv-line"},
	{"^X^M", "ed-newline"},
	{"^I", "viv-complete"},
	{"^?", "viv-rub-out"},
	{"^H", "viv-rub-out"},
	{"^C", "viv-cancel"},
	{"\\e[200~", "viv-paste"},
	{"\\e[A", "viv-up"},
	{"\\eOA", "viv-up"},
	{"^P", "viv-up"},
	{"\\e[B", "viv-down"},
	{"\\eOB", "viv-down"},
	{"^N", "viv-down"},
	{"\\e[H", "viv-home"},
	{"\\eOH", "viv-home"},
	{"\\e[1~", "viv-home"},
	{"\\e[7~", "viv-home"},
	{"^A", "viv-home"},
	{"\\e[F", "viv-end"},
	{"\\eOF", "viv-end"},
	{"\\e[4~", "viv-end"},
	{"\\e[8~", "viv-end"},
	{"^E", "viv-end"},
	{"\\e[3~", "ed-delete-next-char"},
	{"\\e[1;5C", "em-next-word"},
	{"\\e[1;3C", "em-next-word"},
	{"\\e[1;5D", "ed-prev-word"},
	{"\\e[1;3D", "ed-prev-word"},
	{"^U", "vi-kill-line-prev"},
	{"^W", "ed-delete-prev-word"},
	{"^R", "em-inc-search-prev"},
};

/* For an entry of several lines the prompt is padded to a full line: libedit allows no newline in
 * it. */
static char *prompt(EditLine *line)
{
	struct edit *edit = edit_of(line);
	const LineInfoW *info = el_wline(line);
	bool is_long =
		wmemchr(info->buffer, L'\n', (size_t)(info->lastchar - info->buffer)) != NULL;

	(void)snprintf(edit->prompt, sizeof(edit->prompt), "%-*s", is_long ? edit->columns : 4,
		       ">>>");
	return edit->prompt;
}

bool edit_open(struct edit *edit)
{
	const char *term = getenv("TERM");
	FILE *nowhere = fopen("/dev/null", "we"); /* for libedit's messages on unknown terminals */

	buf_init(&edit->text, EDIT_TEXT_MAX);
	buf_init(&edit->draft, EDIT_TEXT_MAX);
	edit->line = nowhere != NULL ? el_init("viv", stdin, stdout, nowhere) : NULL;
	if (edit->line == NULL)
		return false;
	/* A terminal that is unknown to the host most likely behaves like xterm. */
	if (term != NULL && term[0] != '\0' && el_set(edit->line, EL_TERMINAL, term) < 0)
		(void)el_set(edit->line, EL_TERMINAL, "xterm");
	(void)el_set(edit->line, EL_CLIENTDATA, edit);
	(void)el_set(edit->line, EL_EDITOR, "emacs");
	(void)el_set(edit->line, EL_PROMPT, prompt);
	(void)el_set(edit->line, EL_HIST, history, edit->history->list);
	(void)el_set(edit->line, EL_GETCFN, next_key);
	(void)el_set(edit->line, EL_SETTY, "-d", "-isig", NULL); /* Ctrl-C is a key */
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		(void)el_set(edit->line, EL_ADDFN, functions[i].name, functions[i].help,
			     functions[i].call);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		(void)el_set(edit->line, EL_BIND, keys[i].keys, keys[i].function, NULL);
	return true;
}

void edit_close(struct edit *edit)
{
	if (edit->line != NULL)
		el_end(edit->line);
	buf_done(&edit->text);
	buf_done(&edit->draft);
}

enum edit_end edit_read(struct edit *edit, struct buf *ret_text)
{
	const char *got = NULL;
	size_t columns;
	size_t rows;
	int count = 0;

	buf_cut(ret_text, 0);
	edit->at = 0;
	edit->is_cancelled = false;
	el_resize(edit->line);
	term_size(STDOUT_FILENO, &columns, &rows);
	edit->columns = (int)columns;
	(void)el_set(edit->line, EL_PREP_TERM, 1);
	(void)fputs("\033[?2004h", stdout); /* bracketed paste */
	got = el_gets(edit->line, &count);
	(void)fputs(got == NULL ? "\r\n\033[?2004l" : "\033[?2004l", stdout);
	(void)fflush(stdout);
	if (got == NULL)
		return EDIT_OVER;
	(void)buf_append(ret_text, got, (size_t)count);
	return edit->is_cancelled ? EDIT_CANCELLED : EDIT_ENTRY;
}
