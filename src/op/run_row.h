// SPDX-License-Identifier: Apache-2.0
/*
 * Run row - a run in one line of a list: who asked for what, and how far it is
 *
 * Owns:    the members of a row, the same in every list and in the feed.
 * May not: decide who may see a row: the ops that list runs do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "op/object.h"
#include "op/op.h"
#include "session/engine.h"
#include "session/log.h"

#define RUN_ROW_LINE_MAX 120U /* bytes of the line that names the code */

/* Adds the row of this run as a member (NULL: an item of a list). */
void run_row_put(struct object *object, const char *name, const struct engine *engine,
		 struct log *log);

/* Adds only the members, to the object that is open; more may follow. */
void run_row_members(struct object *object, const struct engine *engine, struct log *log);

/* Appends the line that names the code, as a JSON text: the first that is no import, comment or
 * blank; else the first that is not blank. */
int run_row_put_line(struct buf *buf, const void *code, size_t size);
