// SPDX-License-Identifier: Apache-2.0
/*
 * Term - a terminal whose keys come one by one
 *
 * Owns:    the terminal's former settings, and their return.
 * May not: leave a terminal raw, whatever happens in between.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct term {
	int fd; /* borrowed */
	bool is_raw;
	struct termios before;
};

/* From now on keys come as they are pressed, Ctrl-C among them. False: not a terminal. */
bool term_raw(struct term *term, int fd);
void term_restore(struct term *term);

/* Columns and rows; 80 by 24 if they are unknown. */
void term_size(int fd, size_t *ret_columns, size_t *ret_rows);
