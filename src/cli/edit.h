// SPDX-License-Identifier: Apache-2.0
/*
 * Edit - typing Python on a terminal: one entry, of one line or many
 *
 * Owns:    the text being typed, the cursor, and how both look on the terminal.
 * May not: know what is done with an entry, nor where completions come from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/history.h"
#include "cli/term.h"

#define EDIT_TEXT_MAX (4U << 20)

/* What may stand at the cursor: each match replaces the characters from `start` to `end`. */
struct edit_matches {
	char **items; /* owned */
	size_t count;
	size_t start, end; /* in characters */
};

enum edit_key {
	KEY_NONE,
	KEY_TEXT,  /* in edit->typed */
	KEY_PASTE, /* likewise, lines and all */
	KEY_ENTER,
	KEY_NEWLINE, /* Alt-Enter: another line in any case */
	KEY_TAB,
	KEY_BACKSPACE,
	KEY_DELETE,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_UP,
	KEY_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_WORD_LEFT,
	KEY_WORD_RIGHT,
	KEY_CUT_END,        /* Ctrl-K */
	KEY_CUT_START,      /* Ctrl-U */
	KEY_CUT_WORD,       /* Ctrl-W */
	KEY_CUT_WORD_RIGHT, /* Alt-D */
	KEY_YANK,           /* Ctrl-Y */
	KEY_CLEAR,          /* Ctrl-L */
	KEY_CANCEL,         /* Ctrl-C */
	KEY_EOF,            /* Ctrl-D, or nobody is there any more */
	KEY_SEARCH,         /* Ctrl-R */
	KEY_ESCAPE,
};

enum edit_end {
	EDIT_ENTRY,
	EDIT_CANCELLED,
	EDIT_OVER,
};

struct edit {
	int in, out; /* borrowed: the terminal */
	int signals; /* borrowed: a signalfd; all but SIGINT mean leave; -1: none */
	struct history *history;
	const char *prompt, *more; /* of the first line, and of the others */

	/* Is this a whole entry, or does it go on? */
	bool (*is_whole)(const char *text, size_t size);

	/* Fills `ret`; false: there is nothing. May be NULL. */
	bool (*complete)(void *user, const char *text, size_t cursor, struct edit_matches *ret);
	void *user;

	struct buf text;         /* owned: UTF-8 */
	size_t cursor;           /* in bytes, at the start of a character */
	struct buf cut;          /* owned: what Ctrl-Y brings back */
	struct buf typed;        /* owned: of KEY_TEXT and KEY_PASTE */
	struct buf draft;        /* owned: what was typed before history was looked at */
	size_t at;               /* the entry of history that is shown; its count: none */
	size_t row;              /* of the terminal's cursor, below the prompt's */
	unsigned char ahead[64]; /* bytes read and not decoded yet */
	size_t ahead_size;
};

void edit_init(struct edit *edit);
void edit_done(struct edit *edit);

/* Reads one entry. The terminal is raw meanwhile, and as it was afterwards. */
enum edit_end edit_read(struct edit *edit, struct buf *ret_text);

/* ---- its parts ---- */

/* The next key (edit_keys.c). */
enum edit_key edit_next_key(struct edit *edit);

/* Shows the entry behind `prompt`, the cursor where it belongs; edit_leave goes to the line below
 * its end; edit_clear wipes the screen first (edit_draw.c). */
void edit_draw(struct edit *edit, const char *prompt);
void edit_leave(struct edit *edit);
void edit_clear(struct edit *edit);
void edit_print(const struct edit *edit, const char *text);
void edit_list(struct edit *edit, const struct edit_matches *matches);

/* Ctrl-R: shows what is found; returns the key that ended it, to be served (edit_search.c). */
enum edit_key edit_search(struct edit *edit);

void edit_set_text(struct edit *edit, const char *text);
void edit_insert(struct edit *edit, const char *text, size_t size);
