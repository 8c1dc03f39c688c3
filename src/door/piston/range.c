// SPDX-License-Identifier: Apache-2.0
#include "door/piston/range.h"

#include <stddef.h>
#include <string.h>

#define PART_MAX 999999U
#define UNTIL_ANY ((struct version){{UINT32_MAX, 0, 0}})

static bool is_before(const struct version *a, const struct version *b)
{
	for (size_t i = 0; i < 3; i++) {
		if (a->parts[i] != b->parts[i])
			return a->parts[i] < b->parts[i];
	}
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool ends(char c)
{
	return c == '\0' || c == ' ' || c == '|';
}

/* Reads a number of up to seven digits. False: there is none, or it is longer. */
static bool read_number(const char **at, uint32_t *ret_number)
{
	if (!is_digit(**at))
		return false;
	for (*ret_number = 0; is_digit(**at); (*at)++) {
		if (*ret_number > PART_MAX)
			return false;
		*ret_number = *ret_number * 10 + (uint32_t)(**at - '0');
	}
	return true;
}

/* Reads up to three numbers with dots between them; those after an x or a star do not count. An
 * empty text means any version. False: the text is something else. */
static bool read_parts(const char **text, struct version *ret_version, size_t *ret_count)
{
	const char *at = *text + (**text == 'v');
	bool is_any = false;

	*ret_version = (struct version){0};
	*ret_count = 0;
	if (ends(**text))
		return true;
	for (size_t i = 0; i < 3 && (i == 0 || *at == '.'); i++) {
		uint32_t number = 0;

		at += i > 0;
		if (*at == 'x' || *at == 'X' || *at == '*') {
			is_any = true;
			at++;
		} else if (!read_number(&at, &number)) {
			return false;
		} else if (!is_any) {
			ret_version->parts[(*ret_count)++] = number;
		}
	}
	*text = at;
	return ends(*at);
}

/* The first version after all that begin with the same `count` parts. */
static struct version behind(const struct version *version, size_t count)
{
	struct version next = {0};

	if (count == 0)
		return UNTIL_ANY;
	for (size_t i = 0; i < count; i++)
		next.parts[i] = version->parts[i];
	next.parts[count - 1]++;
	return next;
}

/* How many parts a caret pins: up to the first that is not zero. */
static size_t caret_parts(const struct version *version, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (version->parts[i] > 0)
			return i + 1;
	}
	return count;
}

static const char *read_sign(const char *at, char *ret_sign, bool *ret_with)
{
	*ret_sign = '=';
	if (*at != '\0' && strchr("<>^~=", *at) != NULL)
		*ret_sign = *at++;
	*ret_with = *ret_sign == '=' || *at == '=';
	at += *at == '=';
	return at + strspn(at, " ");
}

/* Does one condition hold? False also if it cannot be read. Moves *at past it. */
static bool holds(const char **at, const struct version *version)
{
	struct version low = {0};
	struct version high, until;
	size_t count = 0;
	bool with_equal;
	char sign;

	*at = read_sign(*at, &sign, &with_equal);
	if (!read_parts(at, &low, &count))
		return false;
	high = behind(&low, count);
	switch (sign) {
	case '>':
		return !is_before(version, with_equal ? &low : &high);
	case '<':
		return is_before(version, with_equal ? &high : &low);
	case '^':
		until = behind(&low, caret_parts(&low, count));
		break;
	case '~':
		until = behind(&low, count < 2 ? count : 2);
		break;
	default:
		until = high;
	}
	return !is_before(version, &low) && is_before(version, &until);
}

/* Do all conditions up to the next "||" hold? */
static bool all_hold(const char *at, const char *end, const struct version *version)
{
	at += strspn(at, " ");
	do {
		const char *before = at;

		if (!holds(&at, version) || (at == before && at < end))
			return false;
		at += strspn(at, " ");
	} while (at < end);
	return true;
}

bool range_has(const char *range, const struct version *version)
{
	while (range != NULL) {
		const char *bar = strstr(range, "||");

		if (all_hold(range, bar != NULL ? bar : range + strlen(range), version))
			return true;
		range = bar != NULL ? bar + 2 : NULL;
	}
	return false;
}

bool version_parse(const char *text, struct version *ret_version)
{
	size_t count = 0;

	return text[0] >= '0' && text[0] <= '9' && read_parts(&text, ret_version, &count) &&
	       count == 3 && *text == '\0';
}
