// SPDX-License-Identifier: Apache-2.0
/*
 * Testimony - what a runner says in DONE, and texts in what it says elsewhere
 *
 * Owns:    reading it. It was written by a process that runs hostile code.
 * May not: decide: that is the verdict's. Nor build a tree of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/verdict.h"

#define TESTIMONY_MAX (1U << 20) /* it may list missing files */

/* Where the runner itself failed, in place of the code. */
enum testimony_failed {
	FAILED_NOT,
	FAILED_START, /* before the code began: what earlier runs left is damaged */
	FAILED_END,
};

struct testimony_extras {
	enum testimony_failed failed;
	bool is_files_cut, is_result_cut;
	bool is_files_dirty; /* something below /workspace changed */
	char blocker[256];   /* what blocks a checkpoint; "": nothing */
	struct buf missing;  /* owned: what stood between the brackets of "missing" */
};

/* Fills `testimony` (its error_* stay) and `extras`. -EPROTO for anything but what the protocol
 * allows. */
int testimony_read(const void *bytes, size_t size, struct verdict_testimony *testimony,
		   struct testimony_extras *extras, struct err *err);

/* Appends the text of the valid JSON string `value` as UTF-8; half a surrogate pair is U+FFFD.
 * -EINVAL when it is no string. */
int testimony_decode(struct buf *buf, const char *value, size_t size);

/* The same into a C string: cut at `room` to whole characters, and at a NUL; "" when it is none. */
void testimony_text(const char *value, size_t size, char *text, size_t room);

/* Appends valid JSON as one line of ASCII: blanks for line ends, \u for what is not ASCII. */
int testimony_ascii(struct buf *buf, const char *value, size_t size);
