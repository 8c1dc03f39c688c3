// SPDX-License-Identifier: Apache-2.0
/*
 * Setting - one row of a table from which config keys, flags, checks and manuals come
 *
 * Owns:    the types a setting can have, their text forms, and where a value lands in its struct.
 * May not: know a particular setting: the rows live with the struct they fill.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/number.h"

enum setting_type {
	SETTING_BYTES = NUMBER_BYTES, /* uint64_t */
	SETTING_COUNT = NUMBER_COUNT, /* uint64_t */
	SETTING_MS = NUMBER_MS,       /* uint64_t */
	SETTING_CPUS = NUMBER_CPUS,   /* uint64_t, thousandths */
	SETTING_CHOICE,               /* uint64_t, the index in `words` */
	SETTING_BOOL,                 /* bool */
	SETTING_TEXT,                 /* char *, never NULL; low and high are lengths */
	SETTING_PATH,                 /* char *, absolute or ""; ~/ stands for the home directory */
	SETTING_LIST,                 /* struct text_list; high is the most entries */
};

struct text_list {
	char **items; /* owned, each */
	size_t count;
};

struct setting {
	const char *key; /* in the file; a dot is a step into a nested mapping */
	enum setting_type type;
	size_t offset; /* of the member in its struct */
	uint64_t low, high, initial;
	const char *text;  /* TEXT, PATH: the default; LIST: its entries, separated by a space */
	const char *words; /* CHOICE: "cgroup|measured" */
	const char *help;
};

/* Sets every member the rows name to its default; `object` is zeroed memory. */
void settings_init(const struct setting *rows, size_t count, void *object);

/* Frees what the rows own in `object` and zeroes it; the members without a row stay. */
void settings_done(const struct setting *rows, size_t count, void *object);

/* Copies every member the rows name, deep, over what is there. */
void settings_copy(const struct setting *rows, size_t count, void *to, const void *from);

/* The row with this key, or NULL. */
const struct setting *setting_find(const struct setting *rows, size_t count, const char *key);

/* Checks `text` against the row and stores it. -EINVAL says what is allowed; the message starts
 * with the key. Not for LIST. */
int setting_parse(const struct setting *row, void *object, const char *text, struct err *err);

/* As setting_parse, for a LIST. */
int setting_parse_list(const struct setting *row, void *object, char *const *items, size_t count,
		       struct err *err);

/* The value as text that setting_parse takes; a list is "[a, b]". Cut to `size`. */
void setting_format(const struct setting *row, const void *object, char *ret_text, size_t size);

/* What the row allows, in words: "16MiB to 64GiB", "cgroup or measured". Cut to `size`. */
void setting_range(const struct setting *row, char *ret_text, size_t size);

/* Frees what is there and owns a copy of `value`; for members of type char *. */
void text_set(char **text, const char *value);

/* Lists grow at the end and own copies. */
void text_list_add(struct text_list *list, const char *text);
void text_list_done(struct text_list *list);
bool text_list_has(const struct text_list *list, const char *text);
