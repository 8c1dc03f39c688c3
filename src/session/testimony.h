// SPDX-License-Identifier: Apache-2.0
/*
 * Testimony - reads what a runner says in DONE, and the JSON texts of its other frames
 *
 * Owns:    the reader. What it reads was written by a process that runs hostile code.
 * May not: decide, which the verdict does; nor build a tree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/verdict.h"

#define TESTIMONY_MAX (1U << 20) /* large enough for a list of missing files */

/* Whether the runner itself failed, rather than the code, and where. */
enum testimony_failed {
	FAILED_NOT,
	FAILED_START, /* before the code began: earlier runs left a damaged state */
	FAILED_END,
};

struct testimony_extras {
	enum testimony_failed failed;
	bool is_files_cut, is_result_cut;
	bool is_files_dirty; /* a file below /workspace changed */
	char blocker[256];   /* why no checkpoint can be made; "": one can */
	struct buf missing;  /* owned: the text between the brackets of "missing" */
	struct buf left_out; /* owned: the same for "left_out" */
};

/* Fills `testimony` (but not its error_*) and `extras`. -EPROTO for anything that the protocol does
 * not allow. */
int testimony_read(const void *bytes, size_t size, struct verdict_testimony *testimony,
		   struct testimony_extras *extras, struct err *err);

/* Appends the text of the valid JSON string `value` as UTF-8; half a surrogate pair becomes U+FFFD.
 * -EINVAL if `value` is not a string. */
int testimony_decode(struct buf *buf, const char *value, size_t size);

/* The same into a C string: cut at `room` to whole characters, and at a NUL; "" if `value` is not a
 * string. */
void testimony_text(const char *value, size_t size, char *text, size_t room);

/* Appends valid JSON as one line of ASCII: blanks for line ends, \u for non-ASCII characters. */
int testimony_ascii(struct buf *buf, const char *value, size_t size);
