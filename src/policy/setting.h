// SPDX-License-Identifier: Apache-2.0
/*
 * Setting - one row of a table from which config keys, flags, checks and manuals come
 *
 * Owns:    the types a setting can have, their text forms, and where a value is stored in its
 *          struct.
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
	const char *key; /* in the file; a dot enters a nested mapping */
	enum setting_type type;
	size_t offset; /* of the member in its struct */
	uint64_t low, high, initial;
	const char *text;  /* TEXT, PATH: the default; LIST: its entries, separated by a space */
	const char *words; /* CHOICE: "cgroup|measured"; TEXT: the required form, if any */
	const char *help;
};

/* Rows of a struct `owner_`: a number or switch, a text or list, a choice among words. */
#define SETTING_NUMBER(owner_, key_, member_, type_, low_, high_, initial_, help_)                 \
	{                                                                                          \
		.key = (key_), .type = (type_), .offset = offsetof(owner_, member_),               \
		.low = (low_), .high = (high_), .initial = (initial_), .help = (help_)             \
	}
#define SETTING_STRING(owner_, key_, member_, type_, high_, text_, help_)                          \
	{                                                                                          \
		.key = (key_), .type = (type_), .offset = offsetof(owner_, member_),               \
		.high = (high_), .text = (text_), .help = (help_)                                  \
	}
#define SETTING_WORD(owner_, key_, member_, words_, help_)                                         \
	{                                                                                          \
		.key = (key_), .type = SETTING_CHOICE, .offset = offsetof(owner_, member_),        \
		.words = (words_), .help = (help_)                                                 \
	}

/* Sets every member that the rows name to its default; `object` must be zeroed. */
void settings_init(const struct setting *rows, size_t count, void *object);

/* Frees everything that the rows own in `object` and zeroes it; members without a row stay. */
void settings_done(const struct setting *rows, size_t count, void *object);

/* Deep-copies every member that the rows name, replacing the old values. */
void settings_copy(const struct setting *rows, size_t count, void *to, const void *from);

/* The row with this key, or NULL. */
const struct setting *setting_find(const struct setting *rows, size_t count, const char *key);

/* Checks `text` against the row and stores it. -EINVAL says what is allowed; the message starts
 * with the key. Not for LIST. */
int setting_parse(const struct setting *row, void *object, const char *text, struct err *err);

/* As setting_parse, for a LIST. */
int setting_parse_list(const struct setting *row, void *object, char *const *items, size_t count,
		       struct err *err);

/* The value as text that setting_parse accepts; a list is "[a, b]". Cut to `size`. */
void setting_format(const struct setting *row, const void *object, char *ret_text, size_t size);

/* The allowed values in words: "16MiB to 64GiB", "cgroup or measured". Cut to `size`. */
void setting_range(const struct setting *row, char *ret_text, size_t size);

/* Replaces *text by an owned copy of `value`; for members of type char *. */
void text_set(char **text, const char *value);

/* A list grows at its end and owns copies of its texts. */
void text_list_add(struct text_list *list, const char *text);
void text_list_done(struct text_list *list);
bool text_list_has(const struct text_list *list, const char *text);
