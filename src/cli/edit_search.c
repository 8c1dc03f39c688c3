// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "cli/edit.h"

#define NEEDLE_MAX 256U

struct search {
	struct buf needle; /* owned */
	size_t before;     /* entries from this on have been seen */
	bool is_found;
};

static void look(struct edit *edit, struct search *search)
{
	long found = history_find(edit->history, buf_string(&search->needle), search->before);

	search->is_found = found >= 0 && search->needle.size > 0;
	if (!search->is_found)
		return;
	search->before = (size_t)found;
	edit->at = (size_t)found;
	edit_set_text(edit, edit->history->entries[found]);
}

static void draw(struct edit *edit, struct search *search)
{
	struct buf prompt;

	buf_init(&prompt, 2 * NEEDLE_MAX + 64);
	(void)buf_format(&prompt, "(%s '%s') ",
			 search->is_found || search->needle.size == 0 ? "search" : "not found",
			 buf_string(&search->needle));
	edit_draw(edit, buf_string(&prompt));
	buf_done(&prompt);
}

/* One character less. */
static void shorten(struct buf *needle)
{
	while (needle->size > 0 && (needle->data[needle->size - 1] & 0xc0) == 0x80)
		needle->size--;
	needle->size -= needle->size > 0;
}

/* True: the key was for the search. */
static bool serve(struct edit *edit, struct search *search, enum edit_key key)
{
	if (key == KEY_TEXT)
		(void)buf_append(&search->needle, edit->typed.data, edit->typed.size);
	else if (key == KEY_BACKSPACE)
		shorten(&search->needle);
	else if (key != KEY_SEARCH && key != KEY_NONE)
		return false;
	if (key == KEY_TEXT && search->is_found)
		search->before++; /* what is shown may still do */
	if (key == KEY_BACKSPACE)
		search->before = edit->history->count;
	if (key != KEY_NONE)
		look(edit, search);
	return true;
}

enum edit_key edit_search(struct edit *edit)
{
	struct search search = {.before = edit->history->count};
	struct buf typed;
	enum edit_key key;

	buf_init(&typed, EDIT_TEXT_MAX);
	(void)buf_append(&typed, edit->text.data, edit->text.size);
	buf_init(&search.needle, NEEDLE_MAX);
	do {
		draw(edit, &search);
		key = edit_next_key(edit);
	} while (serve(edit, &search, key));
	buf_done(&search.needle);
	if (key == KEY_CANCEL || key == KEY_ESCAPE) {
		edit_set_text(edit, buf_string(&typed));
		edit->at = edit->history->count;
		key = KEY_NONE;
	}
	buf_done(&typed);
	return key;
}
