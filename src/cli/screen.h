// SPDX-License-Identifier: Apache-2.0
/*
 * Screen - what code in a sandbox may send to a person's terminal
 *
 * Owns:    the filter between a stream of bytes and a terminal. Text passes, and so do newline,
 *          carriage return, tab, backspace and colours (SGR). All else that a terminal would obey
 *          (titles, the clipboard, cursor, modes, queries that it answers as if somebody typed) is
 *          shown as text: \x1b]52;...
 * May not: be used for a file or a pipe: their bytes pass unchanged.
 *
 * Sequences and characters may be split anywhere: an incomplete one is held, 32 bytes at most.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define SCREEN_HELD_MAX 32

struct screen {
	unsigned char held[SCREEN_HELD_MAX]; /* the beginning of a sequence or of a character */
	size_t held_size;
	bool is_coloured; /* the last colour that passed was not the reset */
};

/* Appends the bytes in a form that may be shown. Returns what buf_append() does. */
int screen_put(struct screen *screen, const void *bytes, size_t size, struct buf *out);

/* Ends the stream: shows what is held, and resets colours. */
int screen_end(struct screen *screen, struct buf *out);
