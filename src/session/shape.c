// SPDX-License-Identifier: Apache-2.0
#include "session/shape.h"

#include <stdint.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"

#define MEMBERS_MAX 64 /* of an object with a description; a longer object does not fit */
#define DIGITS_MAX 18  /* of an integer, so that it fits into 64 bits */

static const struct {
	const char *name;
	const char *members;
} shapes[] = {
	{"Chart", SHAPE_CHART},
	{"Exception", SHAPE_EXCEPTION},
	{"File", SHAPE_FILE},
	{"Lost", SHAPE_LOST},
	{"SavedState", SHAPE_SAVED},
	{"Table", SHAPE_TABLE},
	{"TableIndex", SHAPE_TABLE_INDEX},
};

static bool is_word(const char *text, size_t size, const char *word)
{
	return strlen(word) == size && memcmp(text, word, size) == 0;
}

static bool is_integer(const char *value, size_t size)
{
	size_t at = value[0] == '-';

	if (size - at > DIGITS_MAX)
		return false;
	while (at < size && value[at] >= '0' && value[at] <= '9')
		at++;
	return at == size;
}

/* Is the value one of the words, such as "a" for `a|b`, spelled without escapes? */
static bool is_one_of(const char *words, size_t words_size, const char *value, size_t size)
{
	const char *end = words + words_size;

	while (size > 2 && words < end) {
		const char *bar = memchr(words, '|', (size_t)(end - words));
		size_t length = (size_t)((bar != NULL ? bar : end) - words);

		if (value[0] == '"' && size == length + 2 && memcmp(value + 1, words, length) == 0)
			return true;
		words += length + 1;
	}
	return false;
}

static bool is_scalar(const char *type, size_t type_size, const char *value, size_t size)
{
	bool is_number = value[0] == '-' || (value[0] >= '0' && value[0] <= '9');

	if (is_word(type, type_size, "any"))
		return true;
	if (is_word(type, type_size, "text"))
		return value[0] == '"';
	if (is_word(type, type_size, "int"))
		return is_number && is_integer(value, size);
	if (is_word(type, type_size, "num"))
		return is_number;
	if (is_word(type, type_size, "bool"))
		return value[0] == 't' || value[0] == 'f';
	if (is_word(type, type_size, "object"))
		return value[0] == '{';
	return is_one_of(type, type_size, value, size);
}

/* One member of a description. */
struct row {
	const char *name, *type;
	size_t name_size, type_size;
	bool is_required;
};

/* Takes the next row from the text; false: there is none. */
static bool next_row(const char **text, struct row *ret_row)
{
	const char *colon = strchr(*text, ':');
	const char *end;

	if (colon == NULL)
		return false;
	end = strchrnul(colon, ' ');
	ret_row->is_required = colon[-1] == '!';
	ret_row->name = *text;
	ret_row->name_size = (size_t)(colon - *text) - ret_row->is_required;
	ret_row->type = colon + 1;
	ret_row->type_size = (size_t)(end - colon) - 1;
	*text = *end == ' ' ? end + 1 : end;
	return true;
}

/* Does the member have the type that the description gives for its name? Sets its bit in `seen`. */
static bool member_fits(const char *text, const struct json_member *member, uint64_t *seen)
{
	struct row row;

	for (unsigned bit = 0; next_row(&text, &row); bit++) {
		if (json_is_spelled(member, row.name, row.name_size)) {
			*seen |= 1ULL << bit;
			return shape_fits(row.type, row.type_size, member->value, member->size);
		}
	}
	return true;
}

static bool has_required(const char *text, uint64_t seen)
{
	struct row row;

	for (unsigned bit = 0; next_row(&text, &row); bit++) {
		if (row.is_required && !(seen & 1ULL << bit))
			return false;
	}
	return true;
}

static bool object_fits(const char *members, const char *value, size_t size)
{
	struct json_member member = {0};
	uint64_t seen = 0;
	unsigned count = 0;

	if (value[0] != '{')
		return false;
	while (json_next(value, size, &member)) {
		if (++count > MEMBERS_MAX || !member_fits(members, &member, &seen))
			return false;
	}
	return has_required(members, seen);
}

static bool list_fits(const char *type, size_t type_size, const char *value, size_t size)
{
	struct json_member item = {0};

	if (value[0] != '[')
		return false;
	if (is_word(type, type_size, "any"))
		return true;
	while (json_item(value, size, &item)) {
		if (!shape_fits(type, type_size, item.value, item.size))
			return false;
	}
	return true;
}

bool shape_fits(const char *type, size_t type_size, const char *value, size_t size)
{
	/* Suffixes of a type are read from the right: text[]? is a list or null. */
	if (type[type_size - 1] == '?')
		return value[0] == 'n' || shape_fits(type, type_size - 1, value, size);
	if (type[type_size - 1] == ']')
		return list_fits(type, type_size - 2, value, size);
	if (type[0] != '@')
		return is_scalar(type, type_size, value, size);
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		if (is_word(type + 1, type_size - 1, shapes[i].name))
			return object_fits(shapes[i].members, value, size);
	}
	return false;
}
