// SPDX-License-Identifier: Apache-2.0
/*
 * Edit - typing Python on a terminal, with libedit: one entry, of one line or many
 *
 * Owns:    the keys that differ from libedit's: Enter, which ends an entry only when it is whole,
 *          Tab, pastes, and moving to the lines above and below.
 * May not: know what is done with an entry, nor where completions come from.
 *
 * An entry is one text until it is whole, so every line of it can still be changed. libedit prints
 * no prompt before a second line, so an entry of several lines starts below the prompt, where its
 * indents line up.
 */
#pragma once

#include <histedit.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/history.h"

#define EDIT_TEXT_MAX (4U << 20)

/* Completions at the cursor: each match replaces the characters from `start` to `end`. */
struct edit_matches {
	char **items; /* owned */
	size_t count;
	size_t start, end; /* in characters */
};

enum edit_end {
	EDIT_ENTRY,
	EDIT_CANCELLED, /* Ctrl-C */
	EDIT_OVER,      /* Ctrl-D, a signal, or the terminal is gone */
};

struct edit {
	int signals; /* borrowed: a signalfd; all but SIGINT mean leave */
	struct history *history;

	/* True if this is a whole entry. */
	bool (*is_whole)(const char *text, size_t size);

	/* Fills `ret`; false: no completions. */
	bool (*complete)(void *user, const char *text, size_t cursor, struct edit_matches *ret);
	void *user;

	EditLine *line;    /* owned */
	struct buf text;   /* owned: UTF-8, libedit's text when a key was last handled */
	size_t cursor;     /* ... in bytes */
	struct buf draft;  /* owned: what was typed before an entry of history was shown */
	size_t at;         /* the entry of history that is shown, 1 is the latest; 0: the draft */
	bool is_cancelled; /* by Ctrl-C */
	int columns;       /* of the terminal */
	char prompt[1024];
};

/* Sets up the terminal of stdin and stdout. False: libedit cannot use it. */
bool edit_open(struct edit *edit);
void edit_close(struct edit *edit);

/* Reads one entry. The terminal is raw meanwhile, and restored afterwards. */
enum edit_end edit_read(struct edit *edit, struct buf *ret_text);
