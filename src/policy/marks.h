// SPDX-License-Identifier: Apache-2.0
/*
 * Marks - on which line of a file each key stands
 *
 * Owns:    a flat list of the places in a YAML text, for messages with file:line; and the refusal
 *          of what a config has no use for: aliases, a key twice, keys that are no plain words.
 * May not: keep values: libcyaml loads those.
 *
 * A path joins keys by '/', entries of a list are numbers: "policies/tight/guard/block/0".
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define MARK_PATH_MAX 256
#define MARK_DEPTH_MAX 8

enum mark_kind {
	MARK_SCALAR,
	MARK_LIST,
	MARK_MAPPING,
};

struct mark {
	char *path; /* owned; "" is the document itself */
	enum mark_kind kind;
	unsigned line; /* from 1: of the key, or of the entry */
};

struct marks {
	struct mark *items; /* owned; in the order of the text */
	size_t count;
	const char *file; /* borrowed: the name in messages */
};

/* Reads the text. -EINVAL with "file:line: ..." for what is not YAML or not for a config. An empty
 * text has no marks. */
int marks_init(struct marks *marks, const void *text, size_t size, const char *file,
	       struct err *err);
void marks_done(struct marks *marks);

/* The mark at this path, or NULL. */
const struct mark *marks_find(const struct marks *marks, const char *path);

/* Refuses with "file:line: <text>", the line being that of `path` or of the nearest mark above it.
 */
int marks_refuse(const struct marks *marks, const char *path, struct err *err, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));
