// SPDX-License-Identifier: Apache-2.0
/*
 * History - the entries typed in a repl, now and earlier
 *
 * Owns:    the entries, and the user's file of them (0600): one JSON string per line, since an
 *          entry may have several lines.
 * May not: fail: without its file it lasts as long as the process.
 */
#pragma once

#include <histedit.h>
#include <stddef.h>

struct history {
	History *list; /* owned: libedit's, which also searches in it */
	int file;      /* owned; -1: none */
};

/* `folder` is the user's state folder; NULL: no file. */
void history_open(struct history *past, const char *folder);
void history_close(struct history *past);

/* Adds an entry, unless it repeats the latest. */
void history_add(struct history *past, const char *text);

/* Entry number `number`, 1 is the latest; NULL: there is none. */
const char *history_get(const struct history *past, size_t number);
