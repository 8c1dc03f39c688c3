// SPDX-License-Identifier: Apache-2.0
/*
 * History - what was typed before, also yesterday
 *
 * Owns:    the entries, and the user's file of them (0600): one JSON string per line, since an
 *          entry may have several lines.
 * May not: fail: without its file it is a history of this hour.
 */
#pragma once

#include <stddef.h>

struct history {
	char **entries; /* owned, oldest first */
	size_t count, capacity;
	int file; /* owned; -1: none */
};

/* `folder` is the user's state folder; NULL: no file. */
void history_open(struct history *history, const char *folder);
void history_close(struct history *history);

/* Adds one at the end, unless it is the last one again. */
void history_add(struct history *history, const char *text);

/* The latest entry before number `before` that has `needle` in it; -1: none. */
long history_find(const struct history *history, const char *needle, size_t before);
