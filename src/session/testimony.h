// SPDX-License-Identifier: Apache-2.0
/*
 * Testimony - what a runner says in DONE
 *
 * Owns:    reading it. It was written by a process that runs hostile code.
 * May not: decide: that is the verdict's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/verdict.h"

#define TESTIMONY_MAX (1U << 20) /* it may list missing files */

struct testimony_extras {
	bool is_files_cut, is_result_cut;
	struct buf missing; /* owned: JSON strings with commas between */
};

/* Fills `testimony` (its error_* stay) and `extras`. -EPROTO for anything but what the protocol
 * allows. */
int testimony_read(const void *bytes, size_t size, struct verdict_testimony *testimony,
		   struct testimony_extras *extras, struct err *err);

/* The text of the JSON string `value` into `text`, cut to whole characters; "" when it is none. */
void testimony_text(const char *value, size_t size, char *text, size_t room);

/* Appends valid JSON as one line of ASCII: blanks for line ends, \u for what is not ASCII. */
int testimony_ascii(struct buf *buf, const char *value, size_t size);
